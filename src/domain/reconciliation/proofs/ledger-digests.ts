import type { Clock } from '../../../ports/clock.ts';
import type { Database, Transaction } from '../../../ports/database.ts';
import type { QueueDefinition, QueueWork } from '../../../ports/job-queue.ts';
import type { Log } from '../../../ports/log.ts';
import { BEFORE_ALL, DIGEST_OF_SPAN, type SpanCounts, sealedTogetherIn, singlesIn } from './ledger-spans.ts';

/** The maximum number of transactions per digest, apart from those that are sealed together with the last one. */
const SPAN = 1_000;
/** Fewer transactions get a digest once the first of them is this old. */
const LONGEST_WAIT_MS = 31 * 24 * 60 * 60_000;
const ACCOUNTS_AT_ONCE = 50;
/** Per database transaction, which reads up to a thousand rows for each. */
const SPANS_AT_ONCE = 20;
/** An arbitrary lock number. Processes add digests one after the other. */
const LOCK = 7_230_417;

const LEDGER_DIGESTS_QUEUE: QueueDefinition = {
  name: 'ledger-digests',
  retries: 3,
  retryDelaySeconds: 60,
  retryDelayMaxSeconds: 600,
  runSeconds: 3_600,
  heartbeatSeconds: 60,
};

export const LEDGER_QUEUES: readonly QueueDefinition[] = [LEDGER_DIGESTS_QUEUE];

interface LedgerDigestParts {
  readonly database: Database;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Log;
}

export function ledgerWork(parts: LedgerDigestParts): readonly QueueWork[] {
  return [
    {
      queue: LEDGER_DIGESTS_QUEUE,
      concurrency: 1,
      cron: '37 * * * *',
      handler: async ({ signal }) => void (await addLedgerDigests(parts, { signal })),
    },
  ];
}

interface Span {
  readonly accountId: string;
  readonly after: bigint;
  readonly upto: bigint;
}

/**
 * Adds digests for sound transactions that have none: for a thousand of an account together, or for fewer if the first
 * is a month old. It may run at any time and concurrently, and be killed at any point. Returns how many digests it
 * added.
 */
export async function addLedgerDigests(
  { database, clock, log }: LedgerDigestParts,
  { signal, span = SPAN }: { readonly signal?: AbortSignal | undefined; readonly span?: number } = {},
): Promise<number> {
  let added = 0;
  for await (const ids of accountsInPages(database)) {
    for (let accounts = ids; accounts.length > 0; ) {
      signal?.throwIfAborted();
      const before = new Date(clock.now() - LONGEST_WAIT_MS);
      const spans = await addNext(database, { accounts, before, span });
      const faulty = spans.filter(({ isSound }) => !isSound).map(({ accountId }) => accountId);
      for (const accountId of new Set(faulty)) {
        log.error('transactions of an account are not as they were posted: run turnpike audit', {
          accountId,
        });
      }
      added += spans.filter(({ isSound }) => isSound).length;
      accounts = spans.length === 0 ? [] : accounts.filter((id) => !faulty.includes(id));
    }
  }
  if (added > 0) log.info('transactions of the ledger got their digests', { added });
  return added;
}

async function* accountsInPages(database: Database): AsyncGenerator<readonly string[]> {
  for (let after: string | null = null; ; ) {
    const page: readonly { id: string }[] = await database.query<{ id: string }>(
      `select id from credit_accounts where $1::uuid is null or id > $1 order by id limit ${ACCOUNTS_AT_ONCE}`,
      [after],
    );
    if (page.length > 0) yield page.map(({ id }) => id);
    if (page.length < ACCOUNTS_AT_ONCE) return;
    after = page.at(-1)?.id ?? null;
  }
}

interface DigestParams {
  readonly accounts: readonly string[];
  /** Transactions from before this time do not wait for a full span. */
  readonly before: Date;
  readonly span: number;
}

/** Adds the digests of the next spans of these accounts. A span that is not sound gets none. */
async function addNext(
  database: Database,
  { accounts, before, span }: DigestParams,
): Promise<readonly (Span & { readonly isSound: boolean })[]> {
  return await database.transaction(async (transaction) => {
    await transaction.query('select pg_advisory_xact_lock($1)', [LOCK]);
    const spans = await transaction.query<Span>(NEXT_SPANS, [accounts, before, span]);
    const judged: (Span & { isSound: boolean })[] = [];
    if (spans.length > 0 && (await areSound(transaction, spans))) {
      judged.push(...spans.map((one) => ({ ...one, isSound: true })));
    } else {
      const faulty = new Set<string>();
      for (const one of spans) {
        // Digests have no gaps, so no span after an unsound one gets one.
        if (faulty.has(one.accountId)) continue;
        const isSound = await areSound(transaction, [one]);
        if (!isSound) faulty.add(one.accountId);
        judged.push({ ...one, isSound });
      }
    }
    const sound = judged.filter(({ isSound }) => isSound);
    if (sound.length > 0) await transaction.query(ADD_DIGESTS, valuesOf(sound));
    return judged;
  });
}

async function areSound(transaction: Transaction, spans: readonly Span[]): Promise<boolean> {
  const [singles] = await transaction.query<SpanCounts>(singlesIn(GIVEN), valuesOf(spans));
  if (singles?.faults !== 0n) return false;
  if (singles.members === 0n) return true;
  const [groups] = await transaction.query<SpanCounts>(sealedTogetherIn(GIVEN), valuesOf(spans));
  return groups?.faults === 0n;
}

const GIVEN =
  'select * from unnest($1::uuid[], $2::bigint[], $3::bigint[]) as given (account_id, after, upto)';

const valuesOf = (spans: readonly Span[]) => [
  spans.map(({ accountId }) => accountId),
  spans.map(({ after }) => after.toString()),
  spans.map(({ upto }) => upto.toString()),
];

const ADD_DIGESTS = `insert into ledger_digests (account_id, after_version, version, digest)
  select account_id, after, upto, ${DIGEST_OF_SPAN} from (${GIVEN}) as span`;

/** A span ends with a transaction that is sealed alone, or with the last of a group that is sealed together. */
const NEXT_SPANS = `with account as (
    select account.id, account.version as newest, coalesce(verified.version, ${BEFORE_ALL}) as verified
    from credit_accounts as account
    left join lateral (select version from ledger_digests
      where account_id = account.id order by after_version desc limit 1) as verified on true
    where account.id = any ($1::uuid[])),
  ends as (
    select id, verified, coalesce(closing.seal_version, closing.version) as upto
    from account
    cross join lateral (
      select * from generate_series(greatest(verified, 0) + $3::bigint, newest, $3::bigint) as step limit ${SPANS_AT_ONCE}) as steps
    cross join lateral (select version, seal_version from credit_transactions
      where account_id = id and version >= step order by version limit 1) as closing
    union
    select id, verified, coalesce(last.seal_version, last.version)
    from account
    cross join lateral (select created_at from credit_transactions
      where account_id = id and version > verified order by version limit 1) as first
    cross join lateral (select version, seal_version from credit_transactions
      where account_id = id order by version desc limit 1) as last
    where newest - greatest(verified, 0) < $3::bigint and first.created_at < $2)
  select id as "accountId", coalesce(lag(upto) over (partition by id order by upto), verified) as after, upto
  from ends order by id, upto limit ${SPANS_AT_ONCE}`;
