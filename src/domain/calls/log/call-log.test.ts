import { beforeAll, describe, expect, test } from 'bun:test';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createSeededRandom } from '../../../../test/doubles/seeded-random.ts';
import { createSilentLog } from '../../../../test/doubles/silent-log.ts';
import { addTestCompany } from '../../../../test/doubles/test-company.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { leastIdAt } from '../../../ports/secrets.ts';
import { addKey } from '../../keys/mint-key.ts';
import { chargeCalls, insertCalls } from '../settlement/charge-calls.ts';
import type { FinishedCall } from '../settlement/finished-call.ts';
import { createCallNotes, MOST_REFUSALS_A_MINUTE } from '../settlement/write-behind-calls.ts';
import { type CallLogFilter, isCallCursor, type LoggedCall, listCalls } from './call-log.ts';

const database = useDatabase();
const secrets = createSystemSecrets();
const { newId } = secrets;
const START = Date.UTC(2026, 10, 16, 3);

/** An id of that moment, as gateways make them. */
const idAt = (atMs: number) => leastIdAt(atMs).slice(0, 14) + newId().slice(14);

const company = () => addTestCompany(database);

function callAt(companyId: string, atMs: number, changes: Partial<FinishedCall> = {}): FinishedCall {
  return finishedCall(companyId, { id: idAt(atMs), startedAtMs: atMs, ...changes });
}

const pageOf = (filter: CallLogFilter, limit = 10, after: string | null = null, most?: number) =>
  listCalls(database, filter, { limit, after }, most);

/** All pages, and how many there were. */
async function allOf(filter: CallLogFilter, limit: number, most?: number) {
  const calls: LoggedCall[] = [];
  let [after, pages]: [string | null, number] = [null, 0];
  do {
    const page = await pageOf(filter, limit, after, most);
    calls.push(...page.calls);
    after = page.next;
    pages += 1;
    if (after !== null) expect(isCallCursor(after)).toBe(true);
  } while (after !== null && pages < 1_000);
  return { ids: calls.map(({ id }) => id), pages };
}

describe('the log of calls', () => {
  let companyId = '';
  let other = '';
  const [keyId, otherKey] = [newId(), newId()];
  let calls: FinishedCall[] = [];
  const matching = (test: (call: FinishedCall) => boolean) =>
    calls
      .filter(test)
      .sort((a, b) => b.startedAtMs - a.startedAtMs || (a.id < b.id ? 1 : -1))
      .map(({ id }) => id);

  beforeAll(async () => {
    [companyId, other] = [await company(), await company()];
    for (const id of [keyId, otherKey]) {
      const key = { id, companyId, name: 'key', rawKey: `tpk_${id}`, createdBy: null };
      await addKey(database, secrets, { ...key, scopes: ['usage:read'] });
    }
    const random = createSeededRandom(21);
    // Several of each millisecond, so that only the id tells them apart.
    calls = Array.from({ length: 200 }, (_, at) => {
      const failed = { outcome: 'FAILED', reason: 'client-left', httpStatus: 499, tokens: null } as const;
      return callAt(companyId, START + Math.floor(at / 3) * 1_000, {
        ...{ keyId: random.pick([keyId, otherKey]), requestId: `mine-${at}`, durationMs: at },
        ...(at % 25 === 0 ? failed : {}),
        ...{ alias: random.pick(['svc/chat-default', 'svc/chat-cheap']), tries: 2, costMicro: 5 },
        ...(at % 40 === 0 ? { endUser: 'u-1', tags: ['env:prod', 'x'] } : {}),
      });
    });
    await chargeCalls(database, calls);
    await chargeCalls(database, [callAt(other, START, { requestId: 'mine-1' })]);
  });

  test('shows a call with all its details', async () => {
    const [shown] = (await pageOf({ companyId, requestId: 'mine-40' })).calls;
    const id = calls[40]?.id ?? '';
    expect((await pageOf({ companyId, id })).calls).toEqual([shown as NonNullable<typeof shown>]);
    expect((await pageOf({ companyId: other, id })).calls).toEqual([]);
    expect((await pageOf({ companyId, id, status: 599 })).calls).toEqual([]);
    expect((await pageOf({ companyId, id, to: new Date(START) })).calls).toEqual([]);
    expect(shown).toMatchObject({
      ...{ id: calls[40]?.id ?? '', requestId: 'mine-40', companyId, keyId: calls[40]?.keyId ?? '' },
      ...{ startedAt: new Date(START + 13_000), endpoint: 'chat/completions', overMcp: false },
      ...{ outcome: 'SUCCEEDED', httpStatus: 200, code: null, streamed: true, promptTokens: 10n },
      ...{ cachedTokens: 4n, completionTokens: 17n, firstByteMs: 12, durationMs: 40, endUser: 'u-1' },
      ...{ tags: ['env:prod', 'x'], count: 1, targetId: 'embedded', tries: 2, costMicro: 5n },
    });
    expect(shown?.chargeMicro).toBeGreaterThan(0n);
    expect(Object.keys(shown ?? {})).not.toContain('startedMicros');
  });

  test('its pages have neither gaps nor repeats, for any page size, also while calls are added', async () => {
    const all = matching(() => true);
    for (const limit of [1, 7, 200, 500]) {
      expect((await allOf({ companyId }, limit)).ids).toEqual(all);
    }
    const first = await pageOf({ companyId }, 50);
    const added = callAt(companyId, START + 3_600_000, { requestId: 'later' });
    await chargeCalls(database, [added]);
    const second = await pageOf({ companyId }, 50, first.next);
    expect([...first.calls, ...second.calls].map(({ id }) => id)).toEqual(all.slice(0, 100));
    await database.query('delete from calls where id = $1', [added.id]);
  });

  test.each<[string, CallLogFilter, (call: FinishedCall) => boolean]>([
    ['key', { keyId }, (call) => call.keyId === keyId],
    ['key and status', { keyId, status: 499 }, (call) => call.keyId === keyId && call.httpStatus === 499],
    ['key and end user', { keyId, endUser: 'u-1' }, (call) => call.keyId === keyId && call.endUser === 'u-1'],
    ['model', { model: 'svc/chat-cheap' }, (call) => call.alias === 'svc/chat-cheap'],
    ['status', { status: 499 }, (call) => call.httpStatus === 499],
    ['code', { code: 'client-left' }, (call) => call.reason === 'client-left'],
    ['end user', { endUser: 'u-1' }, (call) => call.endUser === 'u-1'],
    ['tag', { tag: 'env:prod' }, (call) => call.tags?.includes('env:prod') === true],
    ['latency', { minDurationMs: 150 }, (call) => call.durationMs >= 150],
    ['cost', { minChargeMicro: 1n }, (call) => call.outcome === 'SUCCEEDED'],
    [
      'time',
      { from: new Date(START + 10_000), to: new Date(START + 20_000) },
      (call) => call.startedAtMs >= START + 10_000 && call.startedAtMs < START + 20_000,
    ],
  ])('is filtered by %s', async (_, filter, isWanted) => {
    const ids = matching(isWanted);
    expect(ids.length).toBeGreaterThan(2);
    expect((await allOf({ companyId, ...filter }, 3)).ids).toEqual(ids);
    // A page looks at few calls here, most of which do not match.
    expect((await allOf({ companyId, ...filter }, 3, 10)).ids).toEqual(ids);
  });

  test('a key of another company finds nothing, not even how far the search went', async () => {
    const nothing = { calls: [], next: null, searchedUntil: null };
    expect(await pageOf({ companyId: other, keyId }, 10, null, 2)).toEqual(nothing);
    expect(await pageOf({ companyId: other, keyId, requestId: 'mine-40' }, 10, null, 2)).toEqual(nothing);
  });

  test('a filter with few matches returns how far it has searched, and continues there', async () => {
    const page = await pageOf({ companyId, tag: 'no such tag' }, 10, null, 50);
    expect(page.calls).toEqual([]);
    expect(page.searchedUntil).toEqual(new Date(START + 50_000));
    const { ids, pages } = await allOf({ companyId, tag: 'no such tag' }, 10, 50);
    expect([ids.length, pages]).toEqual([0, 5]);
    expect((await pageOf({ companyId, tag: 'no such tag' }, 10)).searchedUntil).toBeNull();
  });

  test('a request id finds its calls of the company alone: ours by its time, a client’s by an index', async () => {
    const madeMs = START + 500_000;
    const own = `req_${madeMs.toString(16).padStart(12, '0')}0123456789ab`;
    const call = callAt(companyId, madeMs + 2, { requestId: own });
    await chargeCalls(database, [call]);
    expect((await pageOf({ companyId, requestId: own })).calls.map(({ id }) => id)).toEqual([call.id]);
    expect((await pageOf({ requestId: own })).calls.map(({ id }) => id)).toEqual([call.id]);
    expect((await pageOf({ companyId: other, requestId: own })).calls).toEqual([]);
    expect((await pageOf({ companyId, requestId: 'mine-1' })).calls).toHaveLength(1);
    expect((await pageOf({ requestId: 'mine-1' })).calls).toHaveLength(2);
    expect((await pageOf({ keyId: newId(), requestId: own })).calls).toEqual([]);
    await database.query('delete from calls where id = $1', [call.id]);
  });

  test('without a company it has the calls of all, in the order of their ids', async () => {
    const { ids } = await allOf({ from: new Date(START), to: new Date(START + 3_600_000) }, 50);
    expect(ids).toHaveLength(201);
    expect(ids).toEqual([...ids].sort().reverse());
  });
});

describe('refusals of a key', () => {
  const refused = (companyId: string, atMs: number, reason = 'INSUFFICIENT_CREDITS') =>
    callAt(companyId, atMs, {
      ...{ outcome: 'REFUSED', reason, httpStatus: 402, tokens: null, targetId: null, keyId: companyId },
      ...{ durationMs: 1 },
    });

  test('past sixty a minute are one row with their count, which grows while they continue', async () => {
    const companyId = await company();
    const notes = createCallNotes({ database, clock: createManualClock(), log: createSilentLog() });
    const rows = async () => (await pageOf({ companyId }, 500)).calls;
    for (let at = 0; at < 100; at += 1) notes.add(refused(companyId, START + at));
    notes.add(refused(companyId, START + 50, 'rateLimited'));
    await notes.flush();
    expect(await rows()).toHaveLength(MOST_REFUSALS_A_MINUTE + 2);
    expect((await rows()).map(({ count }) => count).filter((count) => count > 1)).toEqual([40]);
    for (let at = 0; at < 5_000; at += 1) notes.add(refused(companyId, START + 10_000 + at));
    await notes.flush();
    await notes.flush();
    expect((await rows()).map(({ count }) => count).filter((count) => count > 1)).toEqual([5_040]);
    expect(await rows()).toHaveLength(MOST_REFUSALS_A_MINUTE + 2);
    expect((await rows()).reduce((sum, { count }) => sum + count, 0)).toBe(5_101);
    // The next minute starts over.
    notes.add(refused(companyId, START + 60_000));
    await notes.flush();
    expect(await rows()).toHaveLength(MOST_REFUSALS_A_MINUTE + 3);
    expect(notes.droppedCount()).toBe(0);
  });

  test('a record that is sent twice in one group, or again later, changes nothing', async () => {
    const companyId = await company();
    const call = refused(companyId, START);
    await insertCalls(database, [{ ...call, count: 3 }, call, { ...call, count: 2 }]);
    await insertCalls(database, [{ ...call, count: 2 }]);
    expect((await pageOf({ companyId })).calls.map(({ count }) => count)).toEqual([3]);
    const charged = callAt(companyId, START);
    await chargeCalls(database, [charged]);
    await insertCalls(database, [{ ...charged, count: 9 }]);
    expect((await pageOf({ companyId })).calls.map(({ count }) => count).toSorted()).toEqual([1, 3]);
  });
});
