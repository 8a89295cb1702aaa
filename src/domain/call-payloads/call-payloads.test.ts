import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { steerStatements } from '../../../test/doubles/steered-statements.ts';
import { addTestCompany } from '../../../test/doubles/test-company.ts';
import { until } from '../../../test/doubles/until.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import type { Database } from '../../ports/database.ts';
import { createAnswerCipher } from '../calls/idempotency/answer-cipher.ts';
import {
  changePayloadSettings,
  DAY_MS,
  erasePayloads,
  findPayloadSettings,
  purgePayloads,
  readPayload,
} from './call-payloads.ts';
import { createPayloadLog, type EndedCall, type PayloadLogParts } from './payload-log.ts';

const secrets = createSystemSecrets();
const cipher = createAnswerCipher({ masterKeys: ['a master key of sufficient length'], secrets });
const bytes = (text: string) => new TextEncoder().encode(text);
const bounds = { retentionDays: 30, maxRetentionDays: 90 };

function contract(name: string, database: () => Database) {
  describe(name, () => {
    async function opened(changes: Partial<PayloadLogParts> = {}) {
      const clock = createManualClock();
      const companyId = await addTestCompany(database());
      const { log, entries } = createRecordingLog();
      const parts = { database: database(), clock, log, cipher, ...bounds, maxBytes: 100 };
      const payloads = createPayloadLog({ ...parts, redacts: ['email'], ...changes });
      const note = (requestId: string, more: Partial<EndedCall> = {}) =>
        payloads.note({
          ...{ callId: secrets.newId(), companyId, keyId: secrets.newId(), requestId, endUser: null },
          ...{ endpoint: 'chat/completions', request: bytes('{"a":"Hi"}'), response: null, ...more },
        });
      const stored = (count: number) => until(() => payloads.counts().stored === count);
      const read = (requestId: string) => readPayload({ cipher, clock }, database(), companyId, requestId);
      return { payloads, clock, companyId, note, stored, read, entries };
    }
    const answer = (text: string, isCut = false) => ({ bytes: bytes(text), isCut, textOf: () => text });

    test('payloads are read by company and request id until their retention ends, then purged', async () => {
      const { clock, note, stored, read } = await opened();
      const other = await opened();
      note('req_1', { response: answer('{"b":"Write to a@b.example"}') });
      await stored(1);
      const found = await read('req_1');
      expect(found).toMatchObject({
        ...{ endpoint: 'chat/completions', request: '{"a":"Hi"}', isRequestCut: false },
        ...{ response: '{"b":"Write to [redacted email]"}', isResponseCut: false },
      });
      expect(found?.expiresAt.getTime()).toBe(clock.now() + 30 * DAY_MS);
      expect(await other.read('req_1')).toBeNull();
      await clock.advance(30 * DAY_MS);
      expect(await read('req_1')).toBeNull();
      expect(await purgePayloads({ database: database(), clock })).toBeGreaterThanOrEqual(1);
    });

    test('are cut to their bound after redaction, with a mark', async () => {
      const { note, stored, read } = await opened();
      // The address begins before the bound and ends behind it.
      note('req_1', {
        request: bytes(`{"a":"${'é'.repeat(44)} ada@mail.example"}`),
        response: answer('short', true),
      });
      await stored(1);
      const found = await read('req_1');
      expect(found).toMatchObject({ isRequestCut: true, isResponseCut: true });
      expect(found?.request).toStartWith('{"a":"éé');
      expect(found?.request).toEndWith(' … [cut: the rest is not stored]');
      expect(found?.request).not.toContain('ada');
      expect(found?.response).toBe('short … [cut: the rest is not stored]');
    });

    test('are erased by request id and by end user, of that company alone', async () => {
      const { companyId, note, stored, read } = await opened();
      const other = await opened();
      for (const [id, endUser] of [
        ['req_1', 'ada'],
        ['req_2', 'ada'],
        ['req_3', 'bob'],
      ] as const)
        note(id, { endUser });
      other.note('req_1', { endUser: 'ada' });
      await stored(3);
      await other.stored(1);
      expect(await erasePayloads(database(), companyId, { requestId: 'req_3', endUser: 'ada' })).toBe(0);
      expect(await erasePayloads(database(), companyId, { requestId: 'req_3', endUser: null })).toBe(1);
      expect(await erasePayloads(database(), companyId, { requestId: null, endUser: 'ada' })).toBe(2);
      expect([await read('req_1'), await read('req_3')]).toEqual([null, null]);
      expect(await other.read('req_1')).not.toBeNull();
    });

    test('a company’s own retention and patterns apply, within the operator’s bounds', async () => {
      const { clock, companyId, note, stored, read } = await opened();
      const change = (changes: Parameters<typeof changePayloadSettings>[3]) =>
        changePayloadSettings(database(), bounds, companyId, changes);
      note('req_1');
      await stored(1);
      expect(await change({ retentionDays: 91 })).toMatchObject({
        outcome: 'invalid',
        field: 'retentionDays',
      });
      expect(await change({ redactionPatterns: ['ab'] })).toMatchObject({ field: 'redactionPatterns' });
      expect(await change({ redactionPatterns: Array.from({ length: 51 }, () => 'abc') })).toMatchObject({
        outcome: 'invalid',
      });
      await change({ redactionPatterns: ['Falcon*', ' '] });
      expect(await change({ retentionDays: 2 })).toEqual({
        outcome: 'changed',
        settings: { retentionDays: 2, redactionPatterns: ['Falcon*'] },
      });
      note('req_2', { request: bytes('{"a":"falcon-7 flies"}') });
      await stored(2);
      expect((await read('req_2'))?.request).toBe('{"a":"[redacted pattern] flies"}');
      // Also what was stored before the retention was made shorter.
      expect((await read('req_1'))?.expiresAt.getTime()).toBe(clock.now() + 2 * DAY_MS);
      const lowered = await findPayloadSettings(database(), { retentionDays: 1, maxRetentionDays: 1 }, [
        companyId,
      ]);
      expect(lowered.get(companyId)?.retentionDays).toBe(1);
    });

    test('the newest is returned for a request id that a client used twice', async () => {
      const { clock, note, stored, read } = await opened();
      note('req_1', { request: bytes('{"n":1}') });
      await stored(1);
      await clock.advance(10);
      note('req_1', { request: bytes('{"n":2}') });
      await stored(2);
      expect((await read('req_1'))?.request).toBe('{"n":2}');
    });
  });
}

describe('stored prompts and answers', () => {
  const database = useDatabase();
  contract('on PGlite', () => database);

  test('past a bound, or while the database rejects them, payloads are dropped and counted, and no call waits', async () => {
    const clock = createManualClock();
    const { log, entries } = createRecordingLog();
    const steered = steerStatements(database);
    steered.failWith('unavailable');
    const payloads = createPayloadLog({
      ...{
        database: { ...database, ...steered },
        clock,
        log,
        cipher,
        ...bounds,
        maxBytes: 1_000,
        redacts: [],
      },
    });
    const call = {
      ...{ callId: secrets.newId(), companyId: secrets.newId(), keyId: secrets.newId(), requestId: 'r' },
      ...{ endUser: null, endpoint: 'chat/completions', request: bytes('{"a":"SECRET"}'), response: null },
    };
    let lost = 0;
    const traced = (content: unknown) => {
      if (content === null) lost += 1;
    };
    for (let n = 0; n < 700; n += 1) payloads.note({ ...call, traced });
    expect(payloads.counts()).toEqual({ stored: 0, dropped: 200 });
    const closing = payloads.close();
    await until(async () => {
      await clock.advance(1_000);
      return payloads.counts().dropped === 700;
    });
    await closing;
    payloads.note({ ...call, traced });
    expect(payloads.counts()).toEqual({ stored: 0, dropped: 701 });
    // No span waits for what does not come.
    expect(lost).toBe(701);
    expect(entries).toHaveLength(1);
    expect(JSON.stringify(entries)).not.toContain('SECRET');
  });
});

describePostgres('stored prompts and answers with a server', () => {
  const database = usePostgres();
  contract('on PostgreSQL', () => database);
});
