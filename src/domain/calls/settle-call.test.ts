import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { openMemoryDatabase } from '../../../test/doubles/memory-database.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import type { Database, SqlValue } from '../../ports/database.ts';
import type { FinishedCall } from './finished-call.ts';
import { createCallBook } from './settle-call.ts';

const { newId } = createSystemSecrets();
const companyId = newId();
let database: Database;

beforeAll(async () => {
  database = await openMemoryDatabase();
});
afterAll(() => database.close());

function call(changes: Partial<FinishedCall> = {}): FinishedCall {
  return {
    id: newId(),
    companyId,
    keyId: newId(),
    requestId: 'req_1',
    endpoint: 'chat/completions',
    alias: 'svc/chat-default',
    targetId: 'embedded',
    outcome: 'SUCCEEDED',
    reason: null,
    httpStatus: 200,
    streamed: true,
    tokens: { promptTokens: 10, cachedTokens: 4, completionTokens: 20 },
    estimatedTokens: 1_010,
    startedAtMs: Date.UTC(2026, 0, 1),
    firstByteMs: 12,
    durationMs: 34,
    ...changes,
  };
}

function bookOn(used: Pick<Database, 'query'>) {
  const clock = createManualClock(0);
  const { log, entries } = createRecordingLog();
  return { book: createCallBook({ database: used as Database, clock, log }), clock, entries };
}

describe('the call book', () => {
  test('a settled call is in the database before settle resolves, whole', async () => {
    const { book } = bookOn(database);
    const one = call();
    expect(await book.settle(one)).toEqual({ outcome: 'settled' });
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
      completion_tokens: 20n,
      estimated_tokens: 1_010n,
      started_at: new Date(Date.UTC(2026, 0, 1)),
      first_byte_ms: 12,
      duration_ms: 34,
    });
  });

  test('unknown usage is null, not zero, and explicit zeros stay', async () => {
    const { book } = bookOn(database);
    const unknown = call({ tokens: null, outcome: 'FAILED', reason: 'no-usage' });
    const zero = call({ tokens: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 } });
    await Promise.all([book.settle(unknown), book.settle(zero)]);
    const read = async (id: string) =>
      (
        await database.query('select prompt_tokens, completion_tokens, reason from calls where id = $1', [id])
      )[0];
    expect(await read(unknown.id)).toEqual({
      prompt_tokens: null,
      completion_tokens: null,
      reason: 'no-usage',
    });
    expect(await read(zero.id)).toMatchObject({ prompt_tokens: 0n, completion_tokens: 0n });
  });

  test('G-33 the same call settled again stays one row', async () => {
    const { book } = bookOn(database);
    const one = call();
    await Promise.all([book.settle(one), book.settle(one)]);
    expect(await book.settle(one)).toEqual({ outcome: 'settled' });
    expect(await database.query('select 1 from calls where id = $1', [one.id])).toHaveLength(1);
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
  });

  test('a call that cannot be written says so, and the next one is unharmed', async () => {
    let isAway = true;
    const flaky = { query: async () => (isAway ? Promise.reject(new Error('away')) : []) };
    const { book } = bookOn(flaky as unknown as Database);
    expect(await book.settle(call())).toMatchObject({ outcome: 'not-written' });
    isAway = false;
    expect(await book.settle(call())).toEqual({ outcome: 'settled' });
  });

  test('one row that the database refuses does not cost the others theirs', async () => {
    const { book } = bookOn(database);
    const [good, bad, other] = [call(), call({ estimatedTokens: 2 ** 70 }), call()];
    const outcomes = await Promise.all([good, bad, other].map((one) => book.settle(one)));
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['settled', 'not-written', 'settled']);
    const ids = [good.id, bad.id, other.id];
    expect(await database.query('select 1 from calls where id = any($1::uuid[])', [ids])).toHaveLength(2);
  });

  test('notes are written behind, together, and at the latest on close', async () => {
    const { book, clock } = bookOn(database);
    const noted = [call({ outcome: 'REFUSED' }), call({ outcome: 'REFUSED' }), call({ outcome: 'REFUSED' })];
    const count = async () =>
      (await database.query('select 1 from calls where id = any($1::uuid[])', [noted.map(({ id }) => id)]))
        .length;
    book.note(noted[0] as FinishedCall);
    book.note(noted[1] as FinishedCall);
    expect(await count()).toBe(0);
    await clock.advance(250);
    await book.close();
    expect(await count()).toBe(2);
    book.note(noted[2] as FinishedCall);
    await book.close();
    expect(await count()).toBe(3);
  });

  test('notes past the bound are dropped and counted; a store that is away drops them after some tries', async () => {
    const away = { query: async () => Promise.reject(new Error('away')) };
    const { book, clock, entries } = bookOn(away as unknown as Database);
    for (let n = 0; n < 10_003; n += 1) book.note(call());
    expect(book.droppedCount()).toBe(3);
    for (let turn = 0; turn < 10; turn += 1) await clock.advance(250);
    expect(book.droppedCount()).toBeGreaterThan(500);
    expect(entries.some(({ level }) => level === 'warn')).toBe(true);
  });
});
