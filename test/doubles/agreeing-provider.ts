import type { PaymentProvider, ProviderAnswer } from '../../src/ports/payment-provider.ts';

/** A payment provider that says yes to everything, with ids of its own; `changes` says otherwise. */
export function createAgreeingProvider(changes: Partial<PaymentProvider> = {}): PaymentProvider {
  let count = 0;
  const made = async <T extends object>(
    kind: string,
    more: T,
  ): Promise<ProviderAnswer<T & { id: string }>> => {
    count += 1;
    return { outcome: 'done', value: { id: `${kind}_${count}`, ...more } };
  };
  const page = () => made('session', { url: 'https://pay.example/page', expiresAtMs: 4_102_444_800_000 });
  const none = async () => ({ outcome: 'done', value: { items: [], hasMore: false } }) as const;
  const known = (id: string) => made('object', { id });
  return {
    identity: 'agreeing',
    createProduct: () => made('prod', {}),
    createPrice: () => made('price', {}),
    renameProduct: known,
    setPriceActive: known,
    createCustomer: () => made('cus', {}),
    updateCustomer: known,
    createCheckoutSession: page,
    createPortalSession: page,
    expireCheckoutSession: known,
    cancelSubscription: known,
    changeSubscriptionPrice: ({ subscriptionId }) => known(subscriptionId),
    previewPriceChange: ({ subscriptionId }) => known(subscriptionId),
    createInvoice: () => made('in', {}),
    markInvoicePaid: known,
    voidInvoice: known,
    createCreditNote: () => made('cn', {}),
    refund: () => made('re', { amountMinor: 1n, status: 'succeeded' }),
    retrieveProduct: known,
    retrievePrice: known,
    retrieveCheckoutSession: known,
    retrieveSubscription: known,
    retrieveInvoice: known,
    retrieveCharge: known,
    retrievePaymentIntent: known,
    retrieveDispute: known,
    retrieveCreditNote: known,
    listCharges: none,
    listInvoices: none,
    listSubscriptions: none,
    listDisputes: none,
    listRefunds: none,
    listCreditNotes: none,
    listEvents: none,
    listInvoiceLines: none,
    createWebhookEndpoint: () => made('we', { secret: 'whsec_made' }),
    listWebhookEndpoints: none,
    deleteWebhookEndpoint: known,
    verifyEvent: () => ({ outcome: 'refused', message: 'No signatures found.' }),
    ...changes,
  };
}
