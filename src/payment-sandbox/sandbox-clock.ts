import type Stripe from 'stripe';
import type { Clock, Timer } from '../ports/clock.ts';
import type { Database } from '../ports/database.ts';
import type { Log } from '../ports/log.ts';
import { expireCheckout } from './billing/checkout.ts';
import { cardOf, payInvoice } from './billing/payments.ts';
import { subscriptionDue } from './billing/subscriptions.ts';
import { pruneReplays } from './state/idempotency.ts';
import { type Kind, readAhead, writeAhead } from './state/object-store.ts';
import { idIn, need, type Turn, type World } from './state/transaction.ts';
import type { WebhookDelivery } from './state/webhook-delivery.ts';

/** Renewals, expiries and retries: they happen in real time, and immediately when the clock is moved. */
export interface SandboxTime {
  begin(): void;
  /** Everything that becomes due in between happens at its own time, in order. */
  advance(seconds: number): Promise<{ readonly now: number; readonly steps: number }>;
  close(): Promise<void>;
}

interface TimeOptions {
  readonly world: World;
  readonly database: Database;
  readonly delivery: WebhookDelivery;
  readonly clock: Clock;
  readonly log: Log;
}

const LOOK_MS = 15_000;
const PRUNE_EVERY_LOOKS = 240;
/** The most steps of one poll or one move of the clock: a daily subscription moved by five years takes 3,650 steps. */
const MOST_STEPS = 10_000;

export function createSandboxTime({ world, database, delivery, clock, log }: TimeOptions): SandboxTime {
  let timer: Timer | null = null;
  let looking: Promise<void> = Promise.resolve();
  let looks = 0;
  let isClosed = false;

  /** Each step is a separate change; concurrent runs perform different steps. */
  async function catchUp(until: number): Promise<number> {
    let steps = 0;
    for (; steps < MOST_STEPS && !isClosed; steps += 1) {
      const next = await world.objects.nextDue(until);
      if (next === null) break;
      await world.change(
        async (turn) => {
          const due = await turn.objects.nextDue(next.dueAt);
          if (due !== null) await doDueWork(turn, due);
        },
        { at: next.dueAt },
      );
    }
    if (steps > 0) void delivery.nudge();
    return steps;
  }

  async function look(): Promise<void> {
    try {
      await catchUp(await world.now());
      if (looks % PRUNE_EVERY_LOOKS === 0) await pruneSandbox(database, clock.now(), await world.now());
      looks += 1;
    } catch (error) {
      if (!isClosed) log.warn('the payment sandbox could not do what is due', { error });
    }
    if (!isClosed) timer = clock.after(LOOK_MS, again);
  }

  function again(): void {
    looking = look();
  }

  return {
    begin: again,
    async advance(seconds) {
      const until = (await world.now()) + seconds;
      const steps = await catchUp(until);
      const now = await world.change(async (turn, statements) => {
        await writeAhead(statements, (await readAhead(statements)) + seconds);
        return turn.now + seconds;
      });
      return { now, steps };
    },
    async close() {
      isClosed = true;
      timer?.cancel();
      await looking;
    },
  };
}

/** Performs what is due for one object, at its time, which also sets the object's next due time, if any. */
async function doDueWork(turn: Turn, due: { readonly kind: string; readonly id: string }): Promise<void> {
  const { id } = due;
  if (due.kind === 'subscription') {
    await subscriptionDue(turn, await need(turn, 'subscription', id, 'id'));
  } else if (due.kind === 'checkout.session') {
    const session = await need(turn, 'checkout.session', id, 'id');
    if (session.body.status === 'open') await expireCheckout(turn, session);
  } else if (due.kind === 'invoice') {
    const { body: invoice } = await need(turn, 'invoice', id, 'id');
    if (invoice.status === 'open' && (await isWanted(turn, invoice))) {
      await payInvoice(turn, invoice, await cardOf(turn, invoice));
    } else {
      await turn.objects.put('invoice', { ...invoice, next_payment_attempt: null }, { hidden: {} });
    }
  }
}

/** A subscription that has ended is not charged again. */
async function isWanted(turn: Turn, invoice: Stripe.Invoice): Promise<boolean> {
  const id = idIn(invoice.subscription);
  const kept = id === null ? null : await turn.objects.find('subscription', id);
  return kept === null || kept.body.ended_at === null;
}

/** The provider lists events for 30 days. */
const EVENT_SECONDS = 30 * 86_400;
/** The newest objects of each type are kept, enough for years of manual tests; objects with a due time are always kept. */
const MOST_OF_A_KIND = 50_000;

const prunedKinds: readonly Kind[] = [
  'product',
  'price',
  'customer',
  'checkout.session',
  'payment_intent',
  'charge',
  'refund',
  'subscription',
  'invoice',
  'invoiceitem',
  'event',
  'billing_portal.session',
];

/** Deliveries are deleted with their events. */
export async function pruneSandbox(database: Database, realNowMs: number, now: number): Promise<void> {
  await pruneReplays(database, realNowMs);
  await database.query(`delete from payment_sandbox_objects where kind = 'event' and created < $1`, [
    BigInt(now - EVENT_SECONDS),
  ]);
  for (const kind of prunedKinds) {
    await database.query(
      `delete from payment_sandbox_objects where kind = $1 and due_at is null and sequence <=
         (select sequence from payment_sandbox_objects where kind = $1 order by sequence desc offset $2 limit 1)`,
      [kind, MOST_OF_A_KIND],
    );
  }
}
