import type { Transaction } from '../../ports/database.ts';
import type { Log } from '../../ports/log.ts';
import type { WireObject } from '../../ports/payment-provider.ts';
import type { TellAdmins } from './tell-admins.ts';

/** An event as the inbox keeps it. */
export interface KeptEvent {
  /** Ours. */
  readonly id: string;
  readonly providerEventId: string;
  readonly type: string;
  /** The provider's time, in whole seconds. */
  readonly happenedAt: Date;
  readonly object: WireObject;
  readonly previousAttributes: Readonly<Record<string, unknown>> | null;
}

/**
 * What becomes of an event. An effect decides before it writes: only `applied` may have changed anything.
 */
export type EffectOutcome =
  | {
      readonly outcome: 'applied';
      /** In a few words, for whoever looks at the event. */
      readonly did: string;
      /** Whose balance, invoices or subscription may have changed. */
      readonly companyId: string | null;
      /** What others may have waited for. */
      readonly arrived?: readonly WaitKey[];
    }
  /** Not yet: applied once one of these has arrived. */
  | { readonly outcome: 'deferred'; readonly reason: string; readonly waitsFor: readonly WaitKey[] }
  /** Never, as it is: a person has to look. */
  | { readonly outcome: 'failed'; readonly reason: string; readonly companyId?: string }
  /** It cannot be told without asking the provider how this subscription stands. Nothing was changed. */
  | { readonly outcome: 'ask'; readonly subscriptionId: string };

export type WaitKind = 'customer' | 'session' | 'purchase' | 'payment' | 'invoice' | 'subscription' | 'price';
/** As `customer:cus_1`. */
export type WaitKey = `${WaitKind}:${string}`;

/** Leaves out what is not known. */
export function waitKeys(known: Partial<Record<WaitKind, string | null>>): WaitKey[] {
  return Object.entries(known).flatMap(([kind, id]) => (id ? [`${kind}:${id}` as WaitKey] : []));
}

export interface EffectContext {
  readonly transaction: Transaction;
  /** How subscriptions stand at the provider, by their ids: null where it does not know, or does not answer. */
  readonly asked: ReadonlyMap<string, WireObject | null>;
  readonly tellAdmins: TellAdmins;
  readonly now: Date;
  readonly newId: () => string;
  readonly log: Log;
  readonly pastDueGraceMs: number;
}

export type Effect = (event: KeptEvent, context: EffectContext) => Promise<EffectOutcome>;
