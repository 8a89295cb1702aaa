import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ProviderEvent } from '../../src/ports/payment-provider.ts';

const FOLDER = join(import.meta.dir, '../recorded/payment-events');
/** The moment that the recorded events are of: 2030-01-01, in seconds. */
export const RECORDED_AT = 1_893_456_000;

type Fields = Record<string, unknown>;

interface MadeEvent {
  readonly type: string;
  readonly object?: Fields;
  readonly previous?: Fields | null;
  /** In seconds; the recorded one's if none is given. */
  readonly created?: number;
  readonly id?: string;
  readonly apiVersion?: string | null;
}

let count = 0;

/** An event of a recorded one's shape, with a new id and some fields of its own. */
export function madeEvent({
  type,
  object = {},
  previous,
  created,
  id,
  apiVersion,
}: MadeEvent): ProviderEvent {
  const recorded = JSON.parse(readFileSync(join(FOLDER, `${type}.json`), 'utf8')) as {
    created: number;
    data: { object: Fields; previous_attributes?: Fields };
  } & Fields;
  count += 1;
  const eventId = id ?? `evt_made_${count}_${crypto.randomUUID().slice(0, 8)}`;
  const happened = created ?? recorded.created;
  const whole = { ...recorded.data.object, ...object };
  const previousAttributes = previous === undefined ? (recorded.data.previous_attributes ?? null) : previous;
  const version = apiVersion === undefined ? '2023-10-16' : apiVersion;
  const payload = {
    ...recorded,
    id: eventId,
    created: happened,
    api_version: version,
    data: {
      object: whole,
      ...(previousAttributes === null ? {} : { previous_attributes: previousAttributes }),
    },
  };
  return {
    id: eventId,
    type,
    apiVersion: version,
    createdAtMs: happened * 1000,
    livemode: false,
    object: whole,
    previousAttributes,
    payload,
  };
}

/** The same fact under another id, as the provider sends at times. */
export function secondId(event: ProviderEvent): ProviderEvent {
  count += 1;
  const id = `evt_second_${count}_${crypto.randomUUID().slice(0, 8)}`;
  return { ...event, id, payload: { ...event.payload, id } };
}

/** A price as it appears in items and lines. */
function wirePrice(priceId: string, amount = 2900, currency = 'usd'): Fields {
  return { id: priceId, object: 'price', unit_amount: amount, currency, type: 'recurring' };
}

export function wireItems(priceId: string): Fields {
  return {
    object: 'list',
    data: [{ id: 'si_made', object: 'subscription_item', price: wirePrice(priceId), quantity: 1 }],
  };
}

export interface MadeLine {
  /** Null is a line that was added by hand. */
  readonly priceId: string | null;
  readonly amount: number;
  readonly start: number;
  readonly end?: number;
  readonly proration?: boolean;
  readonly discount?: number;
  readonly description?: string;
}

export function wireLines(lines: readonly MadeLine[]): Fields {
  return {
    object: 'list',
    data: lines.map((line, at) => {
      const { priceId, amount, start, end = start + 31 * 86_400, proration = false, discount = 0 } = line;
      return {
        id: `il_made_${at}`,
        object: 'line_item',
        amount,
        currency: 'usd',
        ...(line.description === undefined ? {} : { description: line.description }),
        discount_amounts: discount === 0 ? [] : [{ amount: discount, discount: 'di_made' }],
        period: { start, end },
        price: priceId === null ? null : wirePrice(priceId),
        proration,
        quantity: 1,
        type: proration || priceId === null ? 'invoiceitem' : 'subscription',
      };
    }),
  };
}
