import type { Database } from '../../../ports/database.ts';
import type { Kind } from './object-kinds.ts';
import { pruneReplays } from './replays.ts';

/** The provider lists events for 30 days. */
const EVENT_SECONDS = 30 * 86_400;
/** Of each kind the newest so many are kept, enough for years of clicking; what is still due stays in any case. */
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

/** Deliveries go with their events. */
export async function prune(database: Database, realNowMs: number, now: number): Promise<void> {
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
