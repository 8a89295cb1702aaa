import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import type { Database } from '../../ports/database.ts';
import { addCompany } from '../accounts/company.ts';
import { createAnswerCipher } from '../calls/idempotency/answer-cipher.ts';
import {
  type AnswerCacheParts,
  type AnswerToCache,
  clearCachedAnswers,
  createAnswerCache,
  dropAnswersOfKeys,
  purgeCachedAnswers,
} from './answer-cache.ts';

const secrets = createSystemSecrets();
const masterKeys = ['a master key of more than thirty-two characters'] as const;
const cipher = createAnswerCipher({ masterKeys, secrets });
const bytes = (text: string) => new TextEncoder().encode(text);
const text = (found: { bytes: Uint8Array } | null) => found && new TextDecoder().decode(found.bytes);
const TTL_MS = 600_000;

function contract(name: string, database: () => Database) {
  describe(name, () => {
    async function opened(changes: Partial<AnswerCacheParts> = {}) {
      const clock = createManualClock();
      const companyId = secrets.newId();
      await addCompany(database(), { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
      const bounds = { maxAnswerBytes: 10_000, maxCompanyBytes: 100_000, maxCompanyAnswers: 100 };
      const cache = createAnswerCache({
        ...{ database: database(), clock, log: createSilentLog(), cipher, masterKeys, ...bounds },
        ...{ maxTtlSeconds: 86_400, priceShareMillionths: 0, ...changes },
      });
      const digestOf = (body: string, of = companyId) => {
        const asked = { endpoint: 'chat/completions', alias: 'svc/chat-default', variant: '' };
        return cache.digestOf(of, { ...asked, bytes: bytes(body) });
      };
      const store = async (body: string, answer: string, more: Partial<AnswerToCache> = {}) =>
        await cache.store({
          ...{
            companyId,
            keyId: secrets.newId(),
            requestId: 'r',
            endUser: null,
            digest: await digestOf(body),
          },
          ...{
            ttlMs: TTL_MS,
            startedAtMs: clock.now(),
            contentType: 'application/json',
            bytes: bytes(answer),
          },
          tokens: { promptTokens: 3, cachedTokens: 1, completionTokens: 2 },
          ...more,
        });
      const find = async (body: string, ttlMs = TTL_MS) =>
        text(await cache.find(companyId, await digestOf(body), ttlMs));
      const stored = async () => {
        const counted = 'select count(*)::int as n, coalesce(sum(bytes), 0)::int as size from cached_answers';
        return (await database().query(`${counted} where company_id = $1`, [companyId]))[0];
      };
      return { cache, clock, companyId, digestOf, store, find, stored };
    }

    test('an answer is found until it expires, and by a reader only up to the age that it allows', async () => {
      const { clock, store, find } = await opened();
      expect(await find('body')).toBeNull();
      await store('body', 'answer');
      await clock.advance(60_000);
      expect(await find('body')).toBe('answer');
      expect(await find('body', 60_000)).toBeNull();
      expect(await find('body', 61_000)).toBe('answer');
      await clock.advance(TTL_MS);
      expect(await find('body', 10 * TTL_MS)).toBeNull();
    });

    test('of concurrent calls one answer is stored, the first; an outdated one is replaced', async () => {
      const { clock, store, find, stored } = await opened();
      const startedAtMs = clock.now();
      await clock.advance(1_000);
      await Promise.all(Array.from({ length: 12 }, (_, n) => store('body', `answer ${n}`, { startedAtMs })));
      const first = await find('body');
      expect(await stored()).toMatchObject({ n: 1 });
      await store('body', 'late', { startedAtMs });
      expect(await find('body')).toBe(first);
      await clock.advance(1_000);
      await store('body', 'newer', { startedAtMs: clock.now() });
      expect(await find('body')).toBe('newer');
      expect(await stored()).toMatchObject({ n: 1 });
    });

    test('a company has a maximum of answers and bytes, the newest ones; a larger answer is not stored', async () => {
      const { clock, store, find, stored } = await opened({ maxCompanyAnswers: 3, maxCompanyBytes: 4_000 });
      for (let n = 0; n < 5; n += 1) {
        await store(`body ${n}`, 'x'.repeat(100));
        await clock.advance(1);
      }
      expect(await stored()).toMatchObject({ n: 3 });
      expect([await find('body 1'), (await find('body 4'))?.length]).toEqual([null, 100]);
      await store('large', 'x'.repeat(3_800));
      expect(await stored()).toMatchObject({ n: 2 });
      await store('too large', 'x'.repeat(4_001));
      expect([await find('too large'), (await find('large'))?.length]).toEqual([null, 3_800]);
    });

    test('the same body of another company has another digest, and a moved row cannot be decrypted', async () => {
      const { cache, companyId, digestOf, store, find } = await opened();
      const other = await opened();
      await store('body', 'the secret answer');
      expect((await digestOf('body', other.companyId)).toHex()).not.toBe((await digestOf('body')).toHex());
      expect(await other.find('body')).toBeNull();
      const moved = [companyId, other.companyId, await digestOf('body', other.companyId)];
      await database().query(
        'update cached_answers set company_id = $2, digest = $3 where company_id = $1',
        moved,
      );
      expect(await other.find('body')).toBeNull();
      expect(await find('body')).toBeNull();
      expect(cache.counts()).toMatchObject({ hits: 0, stored: 1 });
    });

    test('answers are cleared by company, dropped by key and purged by age', async () => {
      const { clock, companyId, store, find } = await opened();
      const other = await opened();
      const keyId = secrets.newId();
      await other.store('body', 'answer');
      await store('one', 'answer', { keyId });
      await store('two', 'answer');
      expect(await dropAnswersOfKeys(database(), companyId, [keyId])).toBe(1);
      expect([await find('one'), await find('two')]).toEqual([null, 'answer']);
      expect(await clearCachedAnswers(database(), companyId)).toBe(1);
      expect([await find('two'), await other.find('body')]).toEqual([null, 'answer']);
      await store('old', 'answer');
      await clock.advance(TTL_MS);
      expect(await purgeCachedAnswers({ database: database(), clock })).toBeGreaterThanOrEqual(1);
      expect(
        await database().query('select 1 from cached_answers where company_id = $1', [companyId]),
      ).toEqual([]);
    });
  });
}

describe('the answer cache', () => {
  const database = useDatabase();
  contract('on PGlite', () => database);
});

describePostgres('the answer cache with a server', () => {
  const database = usePostgres();
  contract('on PostgreSQL', () => database);
});
