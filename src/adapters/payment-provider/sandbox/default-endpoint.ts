import { EVENT_VERSION } from './emit-event.ts';
import { endpointShape } from './shapes/catalog.ts';
import type { World } from './world.ts';

export interface DefaultEndpoint {
  readonly url: string;
  readonly secret: string;
  readonly eventKinds: readonly string[];
}

/** The fourteen that the backend handles. */
export const handledEventKinds: readonly string[] = [
  'checkout.session.completed',
  'invoice.paid',
  'invoice.payment_failed',
  'invoice.finalized',
  'invoice.finalization_failed',
  'invoice.payment_action_required',
  'invoice.upcoming',
  'customer.subscription.created',
  'customer.subscription.updated',
  'customer.subscription.deleted',
  'customer.subscription.trial_will_end',
  'customer.subscription.paused',
  'customer.subscription.resumed',
  'charge.refunded',
];

const ID = 'we_sandbox_default';
const MANY = 100;

/**
 * A fresh machine has nobody who would register an endpoint, so there is one from the start, with the settings of
 * this start. One that was registered for the same place with the same secret serves as well.
 */
export async function ensureEndpoint(world: World, wanted: DefaultEndpoint): Promise<void> {
  await world.change(async (turn) => {
    const { data } = await turn.objects.list('webhook_endpoint', { where: { url: wanted.url }, limit: MANY });
    for (const { id } of data) {
      const kept = await turn.objects.find('webhook_endpoint', id);
      if (id !== ID && kept?.hidden.secret === wanted.secret) {
        await turn.objects.remove('webhook_endpoint', ID);
        return;
      }
    }
    const endpoint = endpointShape(ID, turn.now, {
      url: wanted.url,
      enabledEvents: [...wanted.eventKinds],
      apiVersion: EVENT_VERSION,
      description: 'Made by the sandbox for the backend of the same start',
    });
    await turn.objects.put('webhook_endpoint', endpoint, { hidden: { secret: wanted.secret } });
  });
}
