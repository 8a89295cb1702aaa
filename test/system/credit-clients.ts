import { expect } from 'bun:test';
import { runCheck } from '../../src/domain/reconciliation/audit-check.ts';
import {
  balanceCheck,
  ledgerChainCheck,
  ledgerTotalCheck,
} from '../../src/domain/reconciliation/ledger-checks.ts';
import {
  chargesCheck,
  keyMonthsCheck,
  pricesCheck,
  usageDaysCheck,
} from '../../src/domain/reconciliation/usage-checks.ts';
import type { Database } from '../../src/ports/database.ts';
import { until } from '../doubles/until.ts';
import { post } from '../gateway/gateway-under-test.ts';
import { done } from '../gateway/scripted-upstream.ts';
import { CHARGE_MICRO, type CreditWorld, GRANTED_MICRO } from './credit-world.ts';

export interface SeenCall {
  readonly requestId: string;
  /** The whole answer: all of the body, or a stream up to its [DONE]. */
  readonly isWhole: boolean;
  /** Null where no answer began. */
  readonly status: number | null;
  /** What a refusal said. */
  readonly reason: string | null;
  readonly tookMs: number;
}

let made = 0;

/** One call, as a client sees it; every second one is a stream. */
export async function callOnce(url: string, rawKey: string): Promise<SeenCall> {
  made += 1;
  const requestId = `seen-${process.pid}-${made}`;
  const stream = made % 2 === 0;
  const body = { model: 'svc/chat-default', messages: [], stream, max_tokens: 10 };
  const startedAt = performance.now();
  let status: number | null = null;
  let isWhole = false;
  let reason: string | null = null;
  try {
    const response = await post(`${url}/chat/completions`, rawKey, body, {
      headers: { 'x-request-id': requestId },
    });
    status = response.status;
    const text = await response.text();
    if (status !== 200) reason = text;
    isWhole = status === 200 && (stream ? text.endsWith(done) : JSON.parse(text).usage !== undefined);
  } catch {
    // Cut off: by a kill.
  }
  return { requestId, isWhole, status, reason, tookMs: performance.now() - startedAt };
}

export function callMany(
  count: number,
  url: string,
  rawKey: string,
  onSeen: (call: SeenCall) => void = () => {},
): Promise<SeenCall[]> {
  const one = async () => {
    const seen = await callOnce(url, rawKey);
    onSeen(seen);
    return seen;
  };
  return Promise.all(Array.from({ length: count }, one));
}

/** For a test's failure: what the others were answered. */
export function notWhole(calls: readonly SeenCall[]): SeenCall[] {
  return calls.filter(({ isWhole }) => !isWhole);
}

/** Calls one after the other on many connections, until stopped. */
export function keepCalling(connections: number, url: string, rawKey: string) {
  const seen: SeenCall[] = [];
  let isStopped = false;
  const running = Array.from({ length: connections }, async () => {
    while (!isStopped) seen.push(await callOnce(url, rawKey));
  });
  return {
    seen,
    async stop(): Promise<SeenCall[]> {
      isStopped = true;
      await Promise.all(running);
      return seen;
    },
  };
}

/** What `turnpike audit` proves about calls and credits. */
const CHECKS = [
  balanceCheck,
  ledgerChainCheck,
  ledgerTotalCheck,
  chargesCheck,
  pricesCheck,
  usageDaysCheck,
  keyMonthsCheck,
];

interface Charged {
  readonly request: string;
  readonly rows: number;
  readonly charges: number;
  readonly micro: bigint;
}

/** As `expectCharged`, once all calls have been settled; none is charged that was not seen whole. */
export async function expectAllCharged(world: CreditWorld, seen: readonly SeenCall[]): Promise<void> {
  let unseen: unknown = null;
  const isRight = async () => {
    unseen = await expectCharged(world, seen).catch((error: unknown) => error);
    return unseen === 0;
  };
  await until(isRight).catch(() => {});
  expect(unseen).toBe(0);
}

/**
 * Every answer that was seen whole is charged, once; nothing is charged twice; the books agree. Answers how many
 * calls were charged and not seen whole.
 */
export async function expectCharged(
  { database, companyId }: CreditWorld,
  seen: readonly SeenCall[],
): Promise<number> {
  const charged = await database.query<Charged>(
    `select request_id as request, count(distinct calls.id)::int as rows, count(posted.source_id)::int as charges,
       coalesce(-sum(posted.amount_micro), 0)::bigint as micro
     from calls left join credit_transactions as posted on posted.source_id = calls.id::text
     where company_id = $1 and outcome <> 'REFUSED' group by request_id`,
    [companyId],
  );
  const byRequest = new Map(charged.map((one) => [one.request, one]));
  const whole = seen.filter(({ isWhole }) => isWhole);
  const wrong = whole.filter(({ requestId }) => {
    const found = byRequest.get(requestId);
    return found?.rows !== 1 || found.charges !== 1 || found.micro !== CHARGE_MICRO;
  });
  expect(wrong).toEqual([]);
  expect(charged.filter(({ rows, charges }) => rows > 1 || charges > 1)).toEqual([]);

  const paid = charged.filter(({ charges }) => charges === 1).length;
  const [account] = await database.query<{ balance: bigint }>(
    'select balance_micro as balance from credit_accounts where id = $1',
    [companyId],
  );
  expect(account?.balance).toBe(GRANTED_MICRO - CHARGE_MICRO * BigInt(paid));
  await expectAgreeingBooks(database);
  return paid - whole.length;
}

/** Balances, ledger, charges, prices and the sums kept of them. */
export async function expectAgreeingBooks(database: Database): Promise<void> {
  for (const check of CHECKS) {
    expect((await runCheck(database, check)).faults).toEqual([]);
  }
}
