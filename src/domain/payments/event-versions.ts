import {
  type PaymentProvider,
  PROVIDER_API_VERSION,
  type ProviderAnswer,
  type ProviderEvent,
  type WireObject,
} from '../../ports/payment-provider.ts';
import { idIn, textIn } from './provider-objects.ts';

export type ObjectLookUps = Pick<
  PaymentProvider,
  'retrieveCheckoutSession' | 'retrieveInvoice' | 'retrieveSubscription' | 'retrieveCharge'
>;

export function isOfOurVersion(apiVersion: string | null): boolean {
  return apiVersion === null || apiVersion === PROVIDER_API_VERSION;
}

/**
 * An event of another API version, with its object as the provider returns it in ours. The provider lists events in the
 * default version of the account at the time, whatever version a request asks for. An event whose object cannot be
 * retrieved, as an upcoming invoice, is returned as it is. Fails if the provider does not answer.
 */
export async function inOurVersion(
  provider: ObjectLookUps,
  event: ProviderEvent,
): Promise<ProviderAnswer<ProviderEvent>> {
  const id = idIn(event.object.id);
  if (isOfOurVersion(event.apiVersion) || id === null) return { outcome: 'done', value: event };
  const answer = await retrieve(provider, event.type, id);
  if (answer === null) return { outcome: 'done', value: event };
  if (answer.outcome === 'failed') {
    return answer.failure.reason === 'not-found' ? { outcome: 'done', value: event } : answer;
  }
  const object = withOwnStatus(event, answer.value);
  const payload = { ...event.payload, api_version: PROVIDER_API_VERSION, data: { object } };
  return {
    outcome: 'done',
    value: { ...event, apiVersion: PROVIDER_API_VERSION, object, previousAttributes: null, payload },
  };
}

async function retrieve(
  provider: ObjectLookUps,
  type: string,
  id: string,
): Promise<ProviderAnswer<WireObject> | null> {
  if (type.startsWith('customer.subscription.')) return await provider.retrieveSubscription(id);
  if (type.startsWith('checkout.session.')) return await provider.retrieveCheckoutSession(id);
  if (type.startsWith('invoice.')) return await provider.retrieveInvoice(id);
  return type === 'charge.refunded' ? await provider.retrieveCharge(id) : null;
}

/** Days of grace are counted from the statuses of a subscription's events, which no version has renamed. */
function withOwnStatus({ type, object }: ProviderEvent, retrieved: WireObject): WireObject {
  const status = type.startsWith('customer.subscription.') ? textIn(object.status) : null;
  return status === null ? retrieved : { ...retrieved, status };
}
