import { expect } from 'bun:test';
import type { WireObject } from '../../src/ports/payment-provider.ts';
import { createShop, done } from '../contracts/payment-provider.contract.ts';
import type { Fields, SandboxUnderTest } from './sandbox-under-test.ts';

export interface Started {
  readonly id: string;
  readonly customerId: string;
  readonly body: Fields;
}

/** A subscriber in the sandbox with a scripted card, for whom time passes. */
export function createSubscriber(open: () => SandboxUnderTest, name: string) {
  const pay = async (id: string) => void (await open().click(`/checkout/${id}/pay`));
  const shop = createShop(() => ({ provider: open().provider, pay }), name);
  const card = (customer: string, card: string) => open().own('/sandbox/cards', { customer, card });

  return {
    shop,
    card,
    async pass(days: number): Promise<void> {
      const moved = await open().own('/sandbox/clock', { advance_seconds: days * 86_400 });
      expect(moved.status).toBe(200);
      await open().settled();
    },
    state: async (id: unknown): Promise<WireObject> =>
      done(await open().provider.retrieveSubscription(String(id))),
    /** The types of the events about one subscription, its invoices too, in order. */
    storyOf: (subscription: unknown): string[] =>
      open().received.flatMap(({ event }) => {
        const { id, subscription: owner } = event?.object ?? {};
        return event !== null && (id === subscription || owner === subscription) ? [event.type] : [];
      }),
    async started(parameters: Record<string, string> = {}, cardKind = 'works'): Promise<Started> {
      const { priceId, customerId } = await shop.sell('recurring', 4_900n);
      await card(customerId, cardKind);
      const wanted = { customer: customerId, 'items[0][price]': priceId, 'metadata[companyId]': 'c1' };
      const { status, body } = await open().call('POST', '/v1/subscriptions', { ...wanted, ...parameters });
      expect(status).toBe(200);
      await open().settled();
      return { id: String(body.id), customerId, body };
    },
  };
}
