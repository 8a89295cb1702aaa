import { describe, expect, test } from 'bun:test';
import { finishedCall } from '../../../../test/doubles/finished-calls.ts';
import { createMemoryJournal } from '../../../../test/doubles/memory-journal.ts';
import { createRecordingLog } from '../../../../test/doubles/recording-log.ts';
import { steerStatements } from '../../../../test/doubles/steered-statements.ts';
import { addTestCompany } from '../../../../test/doubles/test-company.ts';
import { useDatabase } from '../../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import type { Database } from '../../../ports/database.ts';
import { readLevel } from '../../credits/ledger/credit-account.ts';
import type { FinishedCall } from './finished-call.ts';
import { entryOf, readEntry } from './journal-record.ts';
import { isDatabaseFault, isRefusedRow } from './refused-rows.ts';
import { replayJournal } from './replay-journal.ts';
import { listSetAside } from './set-aside-calls.ts';

const { newId } = createSystemSecrets();
const database = useDatabase();

async function given() {
  const companyId = await addTestCompany(database);
  const { log, entries } = createRecordingLog();
  const journal = createMemoryJournal(10_000);
  const statements = steerStatements(database);
  const heard = { committed: [] as string[], setAside: [] as string[] };
  const parts = {
    database: statements as unknown as Database,
    log,
    onCommitted: (calls: readonly FinishedCall[]) => void heard.committed.push(...calls.map(({ id }) => id)),
    onSetAside: (id: string) => void heard.setAside.push(id),
    isStopped: () => false,
  };
  return {
    ...{ journal, statements, heard, entries, parts },
    call: (changes: Partial<FinishedCall> = {}) => finishedCall(companyId, changes),
    replay: (changes: Partial<typeof parts> = {}) => replayJournal(journal, { ...parts, ...changes }),
    append: async (...calls: readonly FinishedCall[]) => void (await journal.append(calls.map(entryOf))),
    balance: async () => (await readLevel(database, companyId))?.balanceMicro,
  };
}

describe('G-33 the replay of a journal', () => {
  test('charges each call once, in groups, however often it is restarted', async () => {
    const { call, append, replay, balance, statements, heard, journal } = await given();
    const calls = Array.from({ length: 1_201 }, () => call());
    await append(...calls);
    expect(await replay()).toEqual({ outcome: 'emptied' });
    expect(statements.asked).toHaveLength(3);
    expect(heard.committed).toHaveLength(1_201);
    expect(journal.waiting()).toBe(0);
    await append(...calls);
    await Promise.all([replay(), replay()]);
    expect(await balance()).toBe(-76n * 1_201n);
  });

  test('removes nothing while the database is unavailable, or when the replay is stopped', async () => {
    const { call, append, replay, statements, journal, heard } = await given();
    await append(call(), call());
    statements.failWith('time-out');
    expect(await replay()).toMatchObject({ outcome: 'unavailable' });
    statements.failWith(null);
    expect(await replay({ isStopped: () => true })).toEqual({ outcome: 'stopped' });
    expect(journal.waiting()).toBe(2);
    expect(heard.committed).toEqual([]);
  });

  test('sets aside and keeps a call that the database rejects, and charges the others', async () => {
    const { call, append, replay, journal, heard, balance, entries } = await given();
    const bad = call({ companyId: newId() });
    await append(call(), bad, call());
    expect(await replay()).toEqual({ outcome: 'emptied' });
    expect(heard.setAside).toEqual([bad.id]);
    expect([journal.ids(), journal.setAsideCount()]).toEqual([[], 0]);
    expect(await setAsideAmong(bad.id)).toMatchObject([{ fields: { companyId: bad.companyId }, tries: 1 }]);
    expect(await balance()).toBe(-152n);
    expect(entries).toEqual([expect.objectContaining({ level: 'error' })]);
  });

  test('sets aside unreadable entries, and charges the others', async () => {
    const { call, append, replay, journal, balance } = await given();
    const good = call();
    const broken = { id: newId(), record: '{"form":2}\0' };
    const misnamed = { id: newId(), record: entryOf(good).record };
    await journal.append([broken, misnamed]);
    await append(good);
    expect(await replay()).toEqual({ outcome: 'emptied' });
    expect(journal.ids()).toEqual([]);
    expect(await setAsideAmong(broken.id, misnamed.id)).toHaveLength(2);
    expect(await balance()).toBe(-76n);
  });

  test('keeps unreadable entries waiting while the database is unavailable, and in their file where that rejects them too', async () => {
    const { replay, journal, parts, heard } = await given();
    const broken = { id: newId(), record: '{"form":2}' };
    await journal.append([broken]);
    const failing = (error: Error) => ({ ...parts.database, query: () => Promise.reject(error) }) as Database;
    const away = Object.assign(refusedWith('57P01'), { reason: 'unavailable' });
    expect(await replay({ database: failing(away) })).toMatchObject({ outcome: 'unavailable' });
    expect([journal.waiting(), heard.setAside]).toEqual([1, []]);
    expect(await replay({ database: failing(refusedWith('42501')) })).toEqual({ outcome: 'emptied' });
    expect([journal.waiting(), journal.setAsideCount(), journal.ids()]).toEqual([0, 1, [broken.id]]);
  });

  test('ends where the journal cannot remove entries, and charges nothing twice', async () => {
    const { call, append, replay, journal, balance } = await given();
    await append(call());
    journal.failWith(new Error('disk full'));
    const error = await replay().catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: 'disk full' });
    journal.failWith(null);
    expect(await replay()).toEqual({ outcome: 'emptied' });
    expect(await balance()).toBe(-76n);
  });

  test('only SQLSTATE classes 22 and 23 are errors of the row; every other failure is the database’s', () => {
    const failure = (reason: string, sqlState: string | null) => ({
      name: 'DatabaseFailure',
      reason,
      sqlState,
    });
    for (const sqlState of ['22003', '22P05', '23502', '23505']) {
      expect(isRefusedRow(failure('refused', sqlState))).toBe(true);
      expect(isDatabaseFault(failure('refused', sqlState))).toBe(false);
    }
    for (const sqlState of ['25006', '28P01', '40P01', '42501', '53100', '57P01', 'XX001']) {
      expect(isRefusedRow(failure('refused', sqlState))).toBe(false);
      expect(isDatabaseFault(failure('refused', sqlState))).toBe(true);
    }
    for (const reason of ['unavailable', 'time-out', 'busy']) {
      expect(isRefusedRow(failure(reason, null))).toBe(false);
      expect(isDatabaseFault(failure(reason, null))).toBe(true);
    }
    for (const error of [new TypeError('x'), failure('refused', null)])
      expect(isRefusedRow(error)).toBe(false);
    expect(isDatabaseFault(new TypeError('x'))).toBe(false);
  });

  test('a failure of the database keeps every call waiting, and sets none aside', async () => {
    const { call, append, replay, journal, heard, balance, parts } = await given();
    await append(...Array.from({ length: 20 }, () => call()));
    const query = () => Promise.reject(refusedWith('XX000'));
    const faulty = { ...parts.database, query } as unknown as Database;
    expect(await replay({ database: faulty })).toMatchObject({ outcome: 'unavailable' });
    expect([journal.waiting(), journal.setAsideCount()]).toEqual([20, 0]);
    expect(heard).toEqual({ committed: [], setAside: [] });
    expect(await replay()).toEqual({ outcome: 'emptied' });
    expect(await balance()).toBe(-76n * 20n);
  });

  test('an error that comes and goes sets no call aside', async () => {
    const { call, append, replay, heard, balance, parts } = await given();
    const unlucky = call();
    await append(unlucky, ...Array.from({ length: 19 }, () => call()));
    let failures = 0;
    const query: Database['query'] = (text, values = []) => {
      if (failures === 8 || !String(values[0]).includes(unlucky.id))
        return parts.database.query(text, values);
      failures += 1;
      return Promise.reject(refusedWith('XX000'));
    };
    expect(await replay({ database: { ...parts.database, query } })).toEqual({ outcome: 'emptied' });
    expect([failures, heard.setAside, await balance()]).toEqual([8, [], -76n * 20n]);
  });

  test('a failure that begins during the search for a bad row sets no call aside', async () => {
    const { call, append, replay, journal, heard, balance, parts } = await given();
    await append(call({ companyId: newId() }), ...Array.from({ length: 20 }, () => call()));
    let sent = 0;
    const query: Database['query'] = (text, values) => {
      sent += 1;
      return sent === 1 ? parts.database.query(text, values) : Promise.reject(refusedWith('42501'));
    };
    expect(await replay({ database: { ...parts.database, query } })).toMatchObject({
      outcome: 'unavailable',
    });
    expect([journal.waiting(), journal.setAsideCount(), heard.setAside]).toEqual([21, 0, []]);
    expect(await replay()).toEqual({ outcome: 'emptied' });
    expect([heard.setAside.length, await balance()]).toEqual([1, -76n * 20n]);
  });

  test('a bad row and a row that fails temporarily, in any order, do not delay the others', async () => {
    for (const isFirst of [true, false]) {
      const { call, append, replay, heard, balance, parts } = await given();
      const [damaged, refused] = [newId(), newId()];
      const bad = [call({ companyId: damaged }), call({ companyId: refused })];
      await append(...(isFirst ? bad : bad.reverse()), ...Array.from({ length: 20 }, () => call()));
      const query: Database['query'] = (text, values = []) => {
        const isDamaged = String(values[0]).includes(damaged) && !String(values[0]).includes(refused);
        return isDamaged ? Promise.reject(refusedWith('XX001')) : parts.database.query(text, values);
      };
      expect(await replay({ database: { ...parts.database, query } })).toEqual({ outcome: 'emptied' });
      expect([heard.setAside.length, await balance()]).toEqual([2, -76n * 20n]);
    }
  });
});

async function setAsideAmong(...ids: readonly string[]) {
  return (await listSetAside(database, 1_000)).filter(({ id }) => ids.includes(id));
}

function refusedWith(sqlState: string): Error {
  const fields = { name: 'DatabaseFailure', reason: 'refused', sqlState, constraint: null };
  return Object.assign(new Error(`made to fail: ${sqlState}`), fields);
}

describe('the record of a call in the journal', () => {
  test('is the complete call, and nothing else', () => {
    const failed = { outcome: 'FAILED', reason: 'no-usage', tokens: null, firstByteMs: null } as const;
    const calls = [
      finishedCall(newId(), { keyId: newId(), payerId: newId(), monthlyLimitMicro: 2n ** 62n }),
      finishedCall(newId(), { ...failed, alias: null, targetId: null }),
      finishedCall(newId(), {
        ...{ endUser: 'u-1', tags: ['a', 'b'], project: 'search', tries: 2, servedBy: 'svc/chat-premium' },
        ...{ priceFactorMillionths: 2_000_000, completionFactorMillionths: 1_500_000, tier: 'priority' },
        ...{ hourWriteTokens: 7, hourWriteFactorMillionths: 1_600_000 },
        ...{ chargeShareMillionths: 0, costMicro: 12, ownKey: true, cacheHit: true, overMcp: true },
        unpriced: ['service_tier', 'web_search'],
      }),
    ];
    for (const call of calls) expect(readEntry(entryOf(call))).toEqual({ outcome: 'read', call });
  });

  test('is rejected under another id, and where it is damaged', () => {
    const entry = entryOf(finishedCall(newId()));
    const problemOf = (changed: typeof entry) => {
      const read = readEntry(changed);
      return read.outcome === 'unreadable' ? read.problem : null;
    };
    expect(problemOf({ ...entry, id: newId() })).toContain('id');
    expect(problemOf({ ...entry, record: entry.record.slice(1) })).toContain('record');
    const negative = entry.record.replace('"promptTokens":10', '"promptTokens":-10');
    expect(problemOf({ ...entry, record: negative })).toStartWith('tokens.promptTokens: ');
    // What decides the charge is not guessed.
    const share = entryOf(finishedCall(newId(), { chargeShareMillionths: 1_000_001 }));
    expect(problemOf(share)).toStartWith('chargeShareMillionths: ');
    const factor = entryOf(finishedCall(newId(), { priceFactorMillionths: 100_000_001 }));
    expect(problemOf(factor)).toStartWith('priceFactorMillionths: ');
  });

  test('G-33 durations that a clock step made negative or huge, and long texts, do not prevent its charge', () => {
    const call = finishedCall(newId(), {
      durationMs: -3_600_000,
      firstByteMs: -1,
      reason: 'x'.repeat(5_000),
    });
    const read = { ...call, durationMs: 0, firstByteMs: 0, reason: 'x'.repeat(2_000) };
    expect(readEntry(entryOf(call))).toEqual({ outcome: 'read', call: read });
    const ahead = readEntry(entryOf({ ...call, durationMs: 2 ** 40 }));
    expect(ahead).toMatchObject({ outcome: 'read', call: { durationMs: 2 ** 31 - 1 } });
  });
});
