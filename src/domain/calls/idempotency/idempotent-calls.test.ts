import { describe, expect, test } from 'bun:test';
import {
  endOf,
  idempotentCallsContract,
  idempotentRequest,
} from '../../../../test/contracts/idempotent-calls.contract.ts';
import { createManualClock } from '../../../../test/doubles/manual-clock.ts';
import { createSeededRandom } from '../../../../test/doubles/seeded-random.ts';
import { createSilentLog } from '../../../../test/doubles/silent-log.ts';
import { steerStatements } from '../../../../test/doubles/steered-statements.ts';
import { addTestCompany } from '../../../../test/doubles/test-company.ts';
import { until } from '../../../../test/doubles/until.ts';
import { useMemoryDatabase } from '../../../../test/setup/use-database.ts';
import { describePostgres, usePostgres } from '../../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../../adapters/secrets/system-secrets.ts';
import { readLevel } from '../../credits/ledger/credit-account.ts';
import { chargeCalls, countThatFits, MOST_AT_ONCE } from '../settlement/charge-calls.ts';
import type { FinishedCall } from '../settlement/finished-call.ts';
import { entryOf, readEntry } from '../settlement/journal-record.ts';
import type { Settled } from '../settlement/settle-call.ts';
import { createAnswerCipher } from './answer-cipher.ts';
import { createAnswerGatherings, createIdempotentCalls } from './idempotent-calls.ts';
import { claimIdempotencyKey, type IdempotentClaim, LEASE_MS, renewClaims } from './key-claims.ts';

const secrets = createSystemSecrets();
const { newId } = secrets;
const MASTER_KEY = 'a master key of more than thirty-two characters';
const cipher = createAnswerCipher({ masterKeys: [MASTER_KEY], secrets });
const bytes = (text: string) => new TextEncoder().encode(text);

describe('keys of calls', () => {
  const database = useMemoryDatabase();

  describe('the leases of running calls', () => {
    const SETTLED: Settled = { outcome: 'settled', level: null, spending: null };
    const newClaim = (): IdempotentClaim => ({ ...idempotentRequest(newId()), callId: newId() });

    function opened() {
      const clock = createManualClock();
      const statements = steerStatements(database);
      const steered = { ...database, ...statements };
      const bounds = { maxAnswerBytes: 100, keepMs: 86_400_000 };
      const parts = { database: steered, clock, log: createSilentLog(), cipher, ...bounds };
      const renewals = () =>
        statements.asked.filter(({ text }) => text.startsWith('update idempotency_keys'));
      return { calls: createIdempotentCalls(parts), clock, statements, renewals };
    }

    test('are renewed together, three times per lease, until the last call has ended', async () => {
      const { calls, clock, renewals } = opened();
      const [one, other] = [newClaim(), newClaim()];
      expect(await calls.claim(one)).toBe('claimed');
      expect(await calls.claim(other)).toBe('claimed');
      for (let round = 1; round <= 3; round += 1) {
        await clock.advance(LEASE_MS / 3);
        await until(() => renewals().length === round);
        await clock.turn();
      }
      expect(renewals()[0]?.values[2]).toEqual([one.callId, other.callId]);
      calls.ended(one, SETTLED);
      calls.ended(other, SETTLED);
      expect(clock.pendingTimers()).toBe(0);
    });

    test('are renewed until a journaled call is charged', async () => {
      const { calls, clock } = opened();
      const claim = newClaim();
      await calls.claim(claim);
      const committed = Promise.withResolvers<{ level: null; spending: null }>();
      calls.ended(claim, { outcome: 'journaled', committed: committed.promise });
      expect([calls.runningCount(), clock.pendingTimers()]).toEqual([1, 1]);
      committed.resolve({ level: null, spending: null });
      await until(() => calls.runningCount() === 0);
      expect(clock.pendingTimers()).toBe(0);
    });

    test('are retried soon while the database is unavailable, and claims then fail as unavailable', async () => {
      const { calls, clock, statements, renewals } = opened();
      const claim = newClaim();
      await calls.claim(claim);
      statements.failWith('unavailable');
      await clock.advance(LEASE_MS / 3);
      await clock.advance(2_000);
      await until(() => renewals().length === 2);
      expect([await calls.find(claim), await calls.claim(claim), await calls.read(claim)]).toEqual([
        'unavailable',
        'unavailable',
        'unavailable',
      ]);
      statements.failWith(null);
      expect(await calls.find(claim)).toBe('running');
      calls.close();
      expect(clock.pendingTimers()).toBe(0);
    });

    test('G-47 a call that was not recorded releases its key at once', async () => {
      const { calls } = opened();
      const claim = newClaim();
      await calls.claim(claim);
      calls.ended(claim, { outcome: 'not-written', error: null });
      await until(async () => (await calls.find(claim)) === 'free');
    });
  });

  test('streamed answers are stored up to their bound, each and in total', () => {
    const gatherings = createAnswerGatherings(10, 15);
    const one = gatherings.begin('one');
    const piece = bytes('12345');
    one.push(piece);
    piece.fill(0);
    one.push(bytes('67890'));
    expect(one.bytes()).toEqual(bytes('1234567890'));
    const other = gatherings.begin('other');
    other.push(bytes('12345'));
    other.push(bytes('6'));
    expect(other.bytes()).toBeNull();
    one.push(bytes('x'));
    expect(one.bytes()).toBeNull();
    const third = gatherings.begin('third');
    third.push(bytes('1234567890'));
    expect(third.bytes()).toHaveLength(10);
    gatherings.end('third');
    third.push(bytes('x'));
    expect(third.bytes()).toHaveLength(10);
    const fourth = gatherings.begin('fourth');
    fourth.push(bytes('1234567890'));
    expect(fourth.bytes()).toHaveLength(10);
  });

  describe('stored answers', () => {
    test('can be decrypted only under the same master key and for the same call, byte for byte', async () => {
      const answer = new Uint8Array([0, 255, 254, 10, 13, ...bytes('Hello')]);
      const sealed = await cipher.seal(answer, 'call 1');
      expect(await cipher.open(sealed, 'call 1')).toEqual(answer);
      expect((await cipher.seal(answer, 'call 1')).toHex()).not.toBe(sealed.toHex());
      expect(new TextDecoder('latin1').decode(sealed)).not.toContain('Hello');
      expect(await cipher.open(sealed, 'call 2')).toBeNull();
      const elsewhere = createAnswerCipher({
        masterKeys: ['another master key, just as long as it'],
        secrets,
      });
      expect(await elsewhere.open(sealed, 'call 1')).toBeNull();
      const changing: [string, string] = ['another master key, just as long as it', MASTER_KEY];
      const both = createAnswerCipher({ masterKeys: changing, secrets });
      expect(await both.open(sealed, 'call 1')).toEqual(answer);
      expect(await elsewhere.open(await both.seal(answer, 'call 1'), 'call 1')).toEqual(answer);
      for (let at = 0; at < sealed.length; at += 1) {
        const changed = sealed.slice();
        changed[at] = (changed[at] ?? 0) ^ 1;
        expect(await cipher.open(changed, 'call 1')).toBeNull();
        expect(await cipher.open(sealed.subarray(0, at), 'call 1')).toBeNull();
      }
    });

    test('are journaled unchanged, and grouped only up to the size of a statement', () => {
      const claim = { ...idempotentRequest(newId()), callId: newId() };
      const ended = endOf(claim, newId());
      expect(readEntry(entryOf(ended))).toEqual({ outcome: 'read', call: ended });
      expect(ended.idempotent?.storedForMs).toBe(86_400_000);
      const large = endOf(claim, newId(), {}, 'x'.repeat(3 * 1024 * 1024));
      const same = (call: typeof large) => call;
      expect(countThatFits([large, large, large, large], same)).toBe(2);
      expect(countThatFits([endOf(claim, newId(), {}, 'x'.repeat(9 * 1024 * 1024)), large], same)).toBe(1);
      expect(countThatFits(Array(MOST_AT_ONCE + 1).fill(ended), same)).toBe(MOST_AT_ONCE);
      expect(countThatFits([], same)).toBe(0);
    });
  });
});

describe('on PGlite', () => {
  const database = useMemoryDatabase();

  idempotentCallsContract('PGlite', () => database);
});

describePostgres('with a server', () => {
  const database = usePostgres();

  idempotentCallsContract('PostgreSQL', () => database);

  test('G-47 commits in any order, repeated, next to renewals and retries: a key is charged once and there is no deadlock', async () => {
    const random = createSeededRandom(47);
    const companies = await Promise.all(Array.from({ length: 4 }, () => addTestCompany(database)));
    const endLeases = "update idempotency_keys set leased_until = now() - interval '1 second'";
    const claims: IdempotentClaim[] = [];
    const ends: FinishedCall[] = [];
    // Two calls for each key: the lease of the first has ended while it ran.
    for (let key = 0; key < 60; key += 1) {
      const companyId = companies[key % companies.length] ?? '';
      const asked = idempotentRequest(newId());
      for (let call = 0; call < 2; call += 1) {
        const claim = { ...asked, callId: newId() };
        expect(await claimIdempotencyKey(database, claim)).toBe(true);
        await database.query(`${endLeases} where key_id = $1`, [asked.keyId]);
        claims.push(claim);
        ends.push(endOf(claim, companyId, {}, btoa(claim.callId)));
      }
    }
    const some = () => ends.filter(() => random.below(4) === 0).sort(() => random.below(3) - 1);
    const work = Array.from({ length: 60 }, () => [
      () => chargeCalls(database, some()),
      () => renewClaims(database, claims.toReversed()),
      () =>
        claimIdempotencyKey(database, {
          ...idempotentRequest(claims[random.below(120)]?.keyId ?? ''),
          callId: newId(),
        }),
    ]).flat();
    await Promise.all(work.map((one) => one()));
    await chargeCalls(database, ends);
    for (const id of companies) expect((await readLevel(database, id))?.balanceMicro).toBe(-76n * 15n);
    // The answer that is kept is the charged call's.
    const [row] = await database.query(
      `select count(*) as kept from idempotency_keys join calls on calls.id = call_id
       where charge_micro = 76 and convert_from(sealed_answer, 'utf8') = call_id::text`,
    );
    expect(row).toEqual({ kept: 60n });
  });
});
