import type { Clock } from '../../ports/clock.ts';
import type { Transaction } from '../../ports/database.ts';
import type { JobQueue, QueueDefinition } from '../../ports/job-queue.ts';
import type { Secrets } from '../../ports/secrets.ts';
import { ALERT_EVENTS, type AlertEvent, type AlertPayload, payloadOf } from './alert-events.ts';
import { type AlertChannel, CHANNEL_COLUMNS, mailReceiver } from './channels.ts';

/** Accepts alerts within the transaction that establishes the fact: they are sent if and only if it commits. */
export interface AlertDispatch {
  /** Returns the number of new deliveries; a fact that was dispatched before creates none. */
  dispatch(event: AlertEvent, within: Transaction): Promise<number>;
}

/** Accepts mails within a transaction: they are sent if and only if it commits. */
export interface ChannelOutbox {
  send(mail: ChannelMail, within: Transaction): Promise<unknown>;
}

export interface ChannelMail {
  readonly kind: 'alert';
  readonly to: string;
  readonly companyId: string | null;
  /** A fact is mailed to a person once, regardless of the number of channels. */
  readonly dedupeKey: string;
  readonly data: {
    readonly title: string;
    readonly message: string;
    readonly companyName: string | null;
    readonly at: Date;
    readonly isTest: boolean;
  };
}

export interface DispatchParts {
  readonly jobQueue: Pick<JobQueue, 'enqueue'>;
  readonly secrets: Pick<Secrets, 'newId' | 'sha256'>;
  readonly clock: Clock;
  readonly mail: ChannelOutbox;
}

/**
 * One job per delivery, with its id as data. An unavailable receiver is retried for about a day: after 30 s, 1 min,
 * 2 min … up to every four hours.
 */
export const ALERT_DELIVERY_QUEUE: QueueDefinition = {
  name: 'alert-deliveries',
  retries: 14,
  retryDelaySeconds: 30,
  retryDelayMaxSeconds: 4 * 3_600,
  runSeconds: 60,
  heartbeatSeconds: 30,
};

export function createAlertDispatch(parts: DispatchParts): AlertDispatch {
  return {
    async dispatch(event, within) {
      const owner = ALERT_EVENTS[event.kind].audience === 'operators' ? null : event.companyId;
      const channels = await within.query<AlertChannel>(
        `select ${CHANNEL_COLUMNS} from alert_channels
         where company_id is not distinct from $1::uuid and is_on and (event_kinds is null or $2 = any (event_kinds))
         order by id`,
        [owner, event.kind],
      );
      if (channels.length === 0) return 0;
      const eventId = eventIdOf(parts.secrets, event);
      const payload = payloadOf(event, eventId);
      const mailKey = event.mailKey ?? ['alert', event.companyId ?? '', event.kind, event.fact].join(':');
      let made = 0;
      for (const channel of channels) {
        const id = await addDelivery(parts, within, channel, { eventId, kind: event.kind, payload });
        if (id === null) continue;
        made += 1;
        if (channel.kind === 'EMAIL') await mailTo(parts, within, channel, { id, payload, mailKey });
        else await enqueueDelivery(parts, within, channel, id);
      }
      return made;
    },
  };
}

/** A hash, which does not reveal its parts. */
function eventIdOf(secrets: Pick<Secrets, 'sha256'>, { kind, companyId, fact }: AlertEvent): string {
  return `evt_${secrets
    .sha256([kind, companyId ?? '', fact].join(' '))
    .toHex()
    .slice(0, 32)}`;
}

interface NewDelivery {
  readonly eventId: string;
  readonly kind: string;
  readonly payload: AlertPayload;
}

/** Null if the channel already has a delivery of this event. */
export async function addDelivery(
  { secrets, clock }: Pick<DispatchParts, 'secrets' | 'clock'>,
  within: Transaction,
  channel: AlertChannel,
  { eventId, kind, payload }: NewDelivery,
): Promise<string | null> {
  const [row] = await within.query<{ id: string }>(
    `insert into alert_deliveries (id, channel_id, company_id, event_id, event_kind, payload, created_at)
     values ($1, $2, $3, $4, $5, $6, $7) on conflict (channel_id, event_id) do nothing returning id`,
    [
      ...[secrets.newId(), channel.id, channel.companyId, eventId, kind],
      ...[JSON.stringify(payload), new Date(clock.now())],
    ],
  );
  return row?.id ?? null;
}

async function enqueueDelivery(
  { jobQueue }: Pick<DispatchParts, 'jobQueue'>,
  within: Transaction,
  { companyId }: AlertChannel,
  deliveryId: string,
): Promise<void> {
  const owner = companyId === null ? {} : { owner: companyId };
  await jobQueue.enqueue(ALERT_DELIVERY_QUEUE.name, { deliveryId }, { within, ...owner });
}

/** Mail has its own outbox with retries: for the channel, it is delivered once it is queued. */
export async function mailTo(
  { mail, clock }: Pick<DispatchParts, 'mail' | 'clock'>,
  within: Transaction,
  channel: AlertChannel,
  { id, payload, mailKey }: { readonly id: string; readonly payload: AlertPayload; readonly mailKey: string },
): Promise<void> {
  const person = await mailReceiver(within, channel);
  if (person !== null) {
    const { title, message, company, created_at: at, is_test: isTest } = payload;
    await mail.send(
      {
        ...{ kind: 'alert', to: person.email, companyId: channel.companyId },
        dedupeKey: `${mailKey}:${person.email}`,
        data: { title, message, companyName: company?.name ?? null, at: new Date(at), isTest },
      },
      within,
    );
  }
  await within.query(
    `update alert_deliveries set state = $2, error = $3, attempts = 1, attempted_at = $4, settled_at = $4
     where id = $1`,
    [
      id,
      person === null ? 'FAILED' : 'DELIVERED',
      person === null ? 'this person does not belong to the company any more' : null,
      new Date(clock.now()),
    ],
  );
}
