import { beforeAll, describe, expect, test } from 'bun:test';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createMemoryJournal } from '../../../../test/doubles/memory-journal.ts';
import { createRecordingLog } from '../../../../test/doubles/recording-log.ts';
import { useMemoryDatabase } from '../../../../test/setup/use-memory-database.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import type { Database, SqlValue } from '../../../ports/database.ts';
import { addCompany } from '../../accounts/company.ts';
import type { FinishedCall } from './finished-call.ts';
import { createCallBook } from './settle-call.ts';

const { newId } = createSystemSecrets();
const companyId = newId();
const database = useMemoryDatabase();

beforeAll(async () => {
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
});

const call = (changes: Partial<FinishedCall> = {}) => finishedCall(companyId, changes);

function bookOn(used: Pick<Database, 'query'>) {
  const clock = createManualClock(0);
  const { log, entries } = createRecordingLog();
  const parts = { database: used as Database, clock, log, journal: createMemoryJournal() };
  return { book: createCallBook({ ...parts, commitDeadlineMs: 2_000 }), clock, entries };
}

async function rowsOf(...calls: readonly FinishedCall[]): Promise<number> {
  const ids = calls.map(({ id }) => id);
  return (await database.query('select 1 from calls where id = any($1::uuid[])', [ids])).length;
}

describe('the call book', () => {
  test('G-33 a settled call is in the database and charged before settle resolves, whole', async () => {
    const { book } = bookOn(database);
    const one = call({ keyId: newId(), monthlyLimitMicro: 1_000n });
    const settled = await book.settle(one);
    expect(settled).toMatchObject({
      outcome: 'settled',
      level: { accountId: companyId, lineMicro: 0n },
      spending: { keyId: one.keyId, month: '2026-01-01', spentMicro: 76n },
    });
    const [row] = await database.query('select * from calls where id = $1', [one.id]);
    expect(row).toMatchObject({
      company_id: companyId,
      key_id: one.keyId,
      endpoint: 'chat/completions',
      alias: 'svc/chat-default',
      target_id: 'embedded',
      outcome: 'SUCCEEDED',
      http_status: 200,
      streamed: true,
      prompt_tokens: 10n,
      cached_tokens: 4n,
      completion_tokens: 17n,
      estimated_tokens: 1_010n,
      started_at: new Date(Date.UTC(2026, 0, 31, 12)),
      first_byte_ms: 12,
      duration_ms: 34,
      charge_micro: 76n,
    });
  });

  test('each call of a group gets the level of its own company and its own key’s spending', async () => {
    const { book } = bookOn(database);
    const other = newId();
    await addCompany(database, { id: other, name: 'Other', billingMode: 'PREPAID' });
    const withLimit = finishedCall(other, { keyId: newId(), monthlyLimitMicro: 1_000n });
    const free = finishedCall(other, { outcome: 'FAILED', tokens: null, keyId: newId() });
    const [first, second, third] = await Promise.all(
      [call(), withLimit, free].map((one) => book.settle(one)),
    );
    expect(first).toMatchObject({ level: { accountId: companyId }, spending: null });
    expect(second).toMatchObject({
      level: { accountId: other, balanceMicro: -76n },
      spending: { spentMicro: 76n },
    });
    expect(third).toMatchObject({ outcome: 'settled', level: { accountId: other }, spending: null });
  });

  test('unknown usage is null, not zero, and explicit zeros stay', async () => {
    const { book } = bookOn(database);
    const unknown = call({ tokens: null, outcome: 'FAILED', reason: 'no-usage' });
    const zero = call({ tokens: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 } });
    await Promise.all([book.settle(unknown), book.settle(zero)]);
    const columns = 'prompt_tokens, completion_tokens, reason, charge_micro';
    const read = async (id: string) =>
      (await database.query(`select ${columns} from calls where id = $1`, [id]))[0];
    const nothing = { prompt_tokens: null, completion_tokens: null, reason: 'no-usage', charge_micro: 0n };
    expect(await read(unknown.id)).toEqual(nothing);
    expect(await read(zero.id)).toMatchObject({ prompt_tokens: 0n, completion_tokens: 0n });
  });

  test('G-33 the same call settled again, together or later, is one row and one charge', async () => {
    const { book } = bookOn(database);
    const one = call({ keyId: newId(), monthlyLimitMicro: 1_000n });
    const both = await Promise.all([book.settle(one), book.settle(one)]);
    expect(both[0]).toMatchObject({ outcome: 'settled', spending: { spentMicro: 76n } });
    expect(both[1]).toEqual(both[0]);
    expect(await book.settle(one)).toEqual({ outcome: 'settled', level: null, spending: null });
    expect(await rowsOf(one)).toBe(1);
    const charges = 'select 1 from credit_transactions where source_id = $1';
    expect(await database.query(charges, [one.id])).toHaveLength(1);
  });

  test('calls gather while a commit is under way and go together in the next', async () => {
    const statements: number[] = [];
    const gate = Promise.withResolvers<void>();
    const counting = {
      async query(_: string, values: readonly SqlValue[] = []) {
        statements.push(JSON.parse(values[0] as string).length);
        if (statements.length === 1) await gate.promise;
        return [];
      },
    };
    const { book } = bookOn(counting as unknown as Database);
    const all = Array.from({ length: 1_201 }, () => book.settle(call()));
    gate.resolve();
    await Promise.all(all);
    expect(statements).toEqual([500, 500, 201]);
    // One that is given twice goes once.
    const one = call();
    await Promise.all([book.settle(one), book.settle(one)]);
    expect(statements.at(-1)).toBe(1);
  });

  test('one row that the database refuses does not cost the others theirs', async () => {
    const { book } = bookOn(database);
    const [good, bad, other] = [call(), call({ estimatedTokens: 2 ** 70 }), call()];
    const outcomes = await Promise.all([good, bad, other].map((one) => book.settle(one)));
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['settled', 'not-written', 'settled']);
    expect(await rowsOf(good, bad, other)).toBe(2);
    expect(book.hasRoom()).toBe(true);
  });
});

describe('notes of refusals and reads', () => {
  test('are written behind, together, and at the latest on close', async () => {
    const { book, clock } = bookOn(database);
    const noted = [call({ outcome: 'REFUSED' }), call({ outcome: 'REFUSED' }), call({ outcome: 'REFUSED' })];
    book.note(noted[0] as FinishedCall);
    book.note(noted[1] as FinishedCall);
    expect(await rowsOf(...noted)).toBe(0);
    await clock.advance(250);
    await book.close();
    expect(await rowsOf(...noted)).toBe(2);
    book.note(noted[2] as FinishedCall);
    await book.close();
    expect(await rowsOf(...noted)).toBe(3);
    expect(clock.pendingTimers()).toBe(0);
  });

  test('past the bound are dropped and counted; a store that is away drops them after some tries', async () => {
    const away = { query: async () => Promise.reject(new Error('away')) };
    const { book, clock, entries } = bookOn(away as unknown as Database);
    for (let n = 0; n < 10_003; n += 1) book.note(call());
    expect(book.droppedCount()).toBe(3);
    for (let turn = 0; turn < 10; turn += 1) await clock.advance(250);
    expect(book.droppedCount()).toBeGreaterThan(500);
    expect(entries.some(({ level }) => level === 'warn')).toBe(true);
  });
});
