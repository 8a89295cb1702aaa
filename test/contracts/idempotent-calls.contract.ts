import { describe, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import {
  claimIdempotencyKey,
  findIdempotencyState,
  freeIdempotencyKey,
  type IdempotentClaim,
  type IdempotentRequest,
  removeOldIdempotencyKeys,
  renewClaims,
} from '../../src/domain/calls/idempotency/key-claims.ts';
import { chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import type { FinishedCall } from '../../src/domain/calls/settlement/finished-call.ts';
import { readLevel } from '../../src/domain/credits/ledger/credit-account.ts';
import type { Database } from '../../src/ports/database.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { addTestCompany } from '../doubles/test-company.ts';

const { newId, sha256 } = createSystemSecrets();
const DAY_MS = 24 * 3_600_000;

export function idempotentRequest(keyId: string, body = 'a body'): IdempotentRequest {
  return { keyId, idempotencyKey: 'order 1', sha256: sha256(body) };
}

/** An id begins with its moment. */
const startOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16);

function idAt(timeMs: number): string {
  const hex = Math.trunc(timeMs).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}${newId().slice(13)}`;
}

/** How a call that has claimed ends. */
export function endOf(
  claim: IdempotentClaim,
  companyId: string,
  changes: Partial<FinishedCall> = {},
  sealedAnswer: string | null = btoa('the answer'),
): FinishedCall {
  const { callId: id, keyId, idempotencyKey } = claim;
  const idempotent = { idempotencyKey, sha256: claim.sha256.toHex(), contentType: 'text/x', sealedAnswer };
  const startedAtMs = startOf(id);
  const stored = { ...idempotent, storedForMs: DAY_MS };
  return finishedCall(companyId, { id, keyId, startedAtMs, idempotent: stored, ...changes });
}

/** Claims, and what commits make of them, on one engine. */
export function idempotentCallsContract(engine: string, given: () => Database): void {
  const FAILED = { outcome: 'FAILED', reason: 'upstream-broken', tokens: null } as const;
  const claim = (one: IdempotentClaim) => claimIdempotencyKey(given(), one);
  const state = (asked: IdempotentRequest) => findIdempotencyState(given(), asked);
  const charge = (...calls: FinishedCall[]) => chargeCalls(given(), calls);
  const balance = async (id: string) => (await readLevel(given(), id))?.balanceMicro;
  const kept = async ({ keyId }: IdempotentRequest) => [
    ...(await given().query(
      `select call_id as call, http_status as status, content_type as type,
         convert_from(sealed_answer, 'utf8') as answer, ended_at is not null as "hasEnded"
       from idempotency_keys where key_id = $1`,
      [keyId],
    )),
  ];
  const endLease = ({ keyId }: IdempotentRequest) =>
    given().query(
      "update idempotency_keys set leased_until = now() - interval '1 second' where key_id = $1",
      [keyId],
    );

  async function opened() {
    const companyId = await addTestCompany(given());
    const asked = idempotentRequest(newId());
    return { companyId, asked, claim: { ...asked, callId: newId() } };
  }

  describe(`idempotency keys on ${engine}`, () => {
    test('G-47 of many concurrent claims one gets the key; the others see it running', async () => {
      const { asked } = await opened();
      const claimed = await Promise.all(
        Array.from({ length: 20 }, () => claim({ ...asked, callId: newId() })),
      );
      expect(claimed.filter((one) => one)).toHaveLength(1);
      expect(await state(asked)).toBe('running');
      expect(await state(idempotentRequest(asked.keyId, 'other'))).toBe('other-body');
      expect(await state(idempotentRequest(newId()))).toBe('free');
    });

    test('G-47 the commit that charges stores the answer; sent again it changes nothing', async () => {
      const { companyId, asked, claim: own } = await opened();
      await claim(own);
      const ended = endOf(own, companyId);
      const { levels } = await charge(ended, finishedCall(companyId));
      expect(levels).toEqual([{ accountId: companyId, balanceMicro: -152n, lineMicro: 0n, version: 2n }]);
      const row = { call: own.callId, status: 200, type: 'text/x', answer: 'the answer', hasEnded: true };
      expect(await kept(asked)).toEqual([row]);
      expect(await state(asked)).toBe('answered');
      expect(await claim({ ...asked, callId: newId() })).toBe(false);
      expect(await charge(ended, ended)).toEqual({ levels: [], spending: [], budgets: [] });
      expect([await kept(asked), await balance(companyId)]).toEqual([[row], -152n]);
    });

    test('G-47 an answer that is not charged is not stored, and one that cannot be stored is not charged', async () => {
      const { companyId, asked, claim: own } = await opened();
      await claim(own);
      const unpriced = await charge(endOf(own, companyId, { alias: 'svc/none' })).catch((error) => error);
      expect(unpriced).toMatchObject({ reason: 'refused' });
      expect([await state(asked), await balance(companyId)]).toEqual(['running', 0n]);
      const unreadable = await charge(endOf(own, companyId, {}, 'no base64!')).catch((error) => error);
      expect(unreadable).toMatchObject({ reason: 'refused' });
      expect([await state(asked), await balance(companyId)]).toEqual(['running', 0n]);
    });

    test('G-47 an answer that is too large still completes the key', async () => {
      const { companyId, asked, claim: own } = await opened();
      await claim(own);
      await charge(endOf(own, companyId, {}, null));
      expect([await state(asked), await balance(companyId)]).toEqual(['not-kept', -76n]);
    });

    test('G-47 the commit of a failure releases the key, but never an answered one or another’s', async () => {
      const { companyId, asked, claim: own } = await opened();
      await claim(own);
      await charge(endOf({ ...own, callId: newId() }, companyId, FAILED));
      expect(await state(asked)).toBe('running');
      await charge(endOf(own, companyId, FAILED));
      expect(await state(asked)).toBe('free');
      const next = { ...asked, callId: newId() };
      await claim(next);
      await charge(endOf(next, companyId));
      await charge(endOf({ ...own, callId: newId() }, companyId, FAILED));
      await freeIdempotencyKey(given(), next);
      expect(await state(asked)).toBe('answered');
    });

    test('G-47 after the lease a repeat gets the key; the first commit is charged, the other is not', async () => {
      const { companyId, asked, claim: own } = await opened();
      await claim(own);
      await renewClaims(given(), [own]);
      const repeat = { ...asked, callId: newId() };
      expect(await claim(repeat)).toBe(false);
      await endLease(asked);
      expect(await state(asked)).toBe('free');
      expect(await claim({ ...idempotentRequest(asked.keyId, 'other'), callId: newId() })).toBe(false);
      expect(await claim(repeat)).toBe(true);
      await endLease(asked);
      await renewClaims(given(), [own]);
      expect(await state(asked)).toBe('free');
      await renewClaims(given(), [repeat]);
      expect(await state(asked)).toBe('running');
      await charge(endOf(own, companyId, {}, btoa('first')));
      await charge(endOf(repeat, companyId, {}, btoa('second')));
      expect(await kept(asked)).toMatchObject([{ call: own.callId, answer: 'first' }]);
      expect(await balance(companyId)).toBe(-76n);
      const rows = await given().query('select outcome, reason from calls where id = $1', [repeat.callId]);
      expect([...rows]).toEqual([{ outcome: 'FAILED', reason: 'superseded' }]);
    });

    test('G-47 two calls with one key in one commit: the one that holds it is charged', async () => {
      const { companyId, asked, claim: own } = await opened();
      await claim(own);
      await endLease(asked);
      const repeat = { ...asked, callId: newId() };
      await claim(repeat);
      await charge(endOf(own, companyId, {}, btoa('first')), endOf(repeat, companyId, {}, btoa('second')));
      expect(await kept(asked)).toMatchObject([{ call: repeat.callId, answer: 'second' }]);
      expect(await balance(companyId)).toBe(-76n);
    });

    test('G-47 expired keys are removed, in as many batches as needed; running ones stay', async () => {
      const { companyId, asked, claim: own } = await opened();
      const other = { ...idempotentRequest(newId()), callId: newId() };
      for (const one of [own, other]) await claim(one);
      await charge(endOf(own, companyId));
      await given().query(
        `insert into idempotency_keys (key_id, idempotency_key, sha256, call_id, leased_until)
         select $1, 'dead ' || n, $2, $1, now() - interval '1 second' from generate_series(1, 450) as series (n)`,
        [newId(), asked.sha256],
      );
      const clock = createManualClock(Date.now());
      const retention = { database: given(), clock, log: createSilentLog(), keepMs: DAY_MS };
      await removeOldIdempotencyKeys(retention);
      expect(await state(asked)).toBe('answered');
      await clock.advance(DAY_MS + 60_000);
      expect(await removeOldIdempotencyKeys(retention)).toBeGreaterThanOrEqual(451);
      expect([await state(asked), await state(other)]).toEqual(['free', 'running']);
    });
  });

  describe(`G-47 a journal that is replayed after the idempotency keys of its calls are gone, on ${engine}`, () => {
    const purge = ({ keyId }: IdempotentRequest) =>
      given().query('delete from idempotency_keys where key_id = $1', [keyId]);
    const outcome = async ({ id }: FinishedCall) => {
      const [row] = await given().query('select outcome, reason from calls where id = $1', [id]);
      return row?.reason ?? row?.outcome;
    };
    async function ranThreeDaysAgo() {
      const { companyId, asked } = await opened();
      const agoMs = Date.now() - 3 * DAY_MS;
      const call = (afterMs: number) => endOf({ ...asked, callId: idAt(agoMs + afterMs) }, companyId);
      return { companyId, asked, call, fresh: { ...asked, callId: newId() } };
    }

    test('does not charge a call whose repeat was charged meanwhile', async () => {
      const { companyId, asked, call } = await ranThreeDaysAgo();
      const [journaled, repeat] = [call(0), call(120_000)];
      await charge(repeat);
      await purge(asked);
      await charge(journaled);
      await charge(journaled);
      expect(await balance(companyId)).toBe(-76n);
      expect([await outcome(repeat), await outcome(journaled)]).toEqual(['SUCCEEDED', 'superseded']);
    });

    test('charges one of several, in one group or in several, whichever comes first', async () => {
      for (const together of [true, false]) {
        const { companyId, call } = await ranThreeDaysAgo();
        const calls = [call(2_000), call(0), call(1_000)];
        if (together) await charge(...calls);
        else for (const one of calls) await charge(one);
        expect(await balance(companyId)).toBe(-76n);
        const outcomes = await Promise.all(calls.map(outcome));
        expect(outcomes.filter((one) => one === 'superseded')).toHaveLength(2);
      }
    });

    test('charges a call that was not repeated, and leaves its key to the call that holds it now', async () => {
      const { companyId, asked, call, fresh } = await ranThreeDaysAgo();
      expect(await claim(fresh)).toBe(true);
      await charge(call(0));
      expect([await state(asked), await balance(companyId)]).toEqual(['running', -76n]);
      await charge(endOf(fresh, companyId));
      expect([await state(asked), await balance(companyId)]).toEqual(['answered', -152n]);
    });

    test('an old call under the same key does not make a new one free', async () => {
      const { companyId, asked, call } = await ranThreeDaysAgo();
      await charge(call(-2 * DAY_MS));
      await purge(asked);
      await charge(call(0));
      expect(await balance(companyId)).toBe(-152n);
    });
  });
}
