import { describe, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import type { FinishedCall } from '../../src/domain/calls/settlement/finished-call.ts';
import { entryOf, readEntry } from '../../src/domain/calls/settlement/journal-record.ts';
import {
  dropWithheldUsage,
  listWithheldUsage,
  postWithheldUsage,
} from '../../src/domain/calls/settlement/withheld-usage.ts';
import { readKeyMonth } from '../../src/domain/credits/holds/holds.ts';
import { readLevel } from '../../src/domain/credits/ledger/credit-account.ts';
import { AUDIT_CHECKS } from '../../src/domain/reconciliation/audit.ts';
import { runCheck } from '../../src/domain/reconciliation/audit-check.ts';
import type { Database } from '../../src/ports/database.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { addTestCompany } from '../doubles/test-company.ts';

/** The most that a safe integer holds: at 4 micro-credits a token 36 billion credits. */
const ABSURD = Number.MAX_SAFE_INTEGER;
const BOUNDS = { promptTokens: 200_000, completionTokens: 16_384 };
/** At 1 and 4 micro-credits a token. */
const MOST_MICRO = 200_000n + 4n * 16_384n;
const ALL_MICRO = 5n * BigInt(ABSURD);

/** What becomes of usage that no call can have, on one engine. */
export function withheldUsageContract(engine: string, given: () => Database): void {
  const { newId } = createSystemSecrets();
  const now = new Date();

  const company = () => addTestCompany(given());
  const absurdCall = (companyId: string, changes: Partial<FinishedCall> = {}) =>
    finishedCall(companyId, {
      tokens: { promptTokens: ABSURD, cachedTokens: 0, completionTokens: ABSURD },
      tokenBounds: BOUNDS,
      ...changes,
    });
  const balance = async (id: string) => (await readLevel(given(), id))?.balanceMicro;
  const post = (callId: string) =>
    given().transaction((transaction) => postWithheldUsage(transaction, { callId, note: 'checked', now }));
  const drop = (callId: string) =>
    given().transaction((transaction) => dropWithheldUsage(transaction, { callId, note: 'a fault', now }));
  const withheld = async (companyId: string) => {
    const rows = await listWithheldUsage(given(), { limit: 10_000, after: null, onlyOpen: true });
    return rows.filter((row) => row.companyId === companyId);
  };
  async function faults(): Promise<string[]> {
    const found: string[] = [];
    for (const check of AUDIT_CHECKS) {
      found.push(...(await runCheck(given(), check)).faults);
    }
    return found;
  }

  /** As a journal returns it. */
  function journaled(call: FinishedCall): FinishedCall {
    const read = readEntry(entryOf(call));
    if (read.outcome !== 'read') throw new Error(read.problem);
    return read.call;
  }

  describe(`withheld usage on ${engine}`, () => {
    test('a call is charged up to its bounds; its tokens are recorded as reported; the rest is withheld', async () => {
      const id = await company();
      const call = absurdCall(id);
      await chargeCalls(given(), [call]);
      expect(await balance(id)).toBe(-MOST_MICRO);
      const [row] = await given().query(
        `select prompt_tokens as prompt, completion_tokens as completion, charge_micro as charge from calls where id = $1`,
        [call.id],
      );
      expect(row).toEqual({ prompt: BigInt(ABSURD), completion: BigInt(ABSURD), charge: MOST_MICRO });
      expect(await withheld(id)).toMatchObject([
        {
          callId: call.id,
          alias: 'svc/chat-default',
          promptBound: 200_000n,
          completionBound: 16_384n,
          chargedMicro: MOST_MICRO,
          excessMicro: ALL_MICRO - MOST_MICRO,
          resolution: null,
        },
      ]);
      expect(await faults()).toEqual([]);
    });

    test('a record without bounds, of an earlier version, is charged for at most 1,000,000,000 tokens of each kind', async () => {
      const id = await company();
      const { tokenBounds: _, ...record } = absurdCall(id);
      await chargeCalls(given(), [journaled(record)]);
      expect(await balance(id)).toBe(-5_000_000_000n);
      expect(await withheld(id)).toHaveLength(1);
    });

    test('G-33 sent twice, replayed from a journal, or many at once: each call is charged and withheld once', async () => {
      const id = await company();
      const calls = Array.from({ length: 20 }, () => absurdCall(id));
      const replayed = calls.map(journaled);
      await Promise.all([
        chargeCalls(given(), [...calls, ...calls]),
        chargeCalls(given(), replayed),
        ...replayed.map((call) => chargeCalls(given(), [call])),
      ]);
      expect(await balance(id)).toBe(-20n * MOST_MICRO);
      expect(await withheld(id)).toHaveLength(20);
      expect(await faults()).toEqual([]);
    });

    test('no number of implausible reports overflows the sums of a day', async () => {
      const id = await company();
      const keyId = newId();
      const calls = Array.from({ length: 1_100 }, () => absurdCall(id, { keyId }));
      for (let at = 0; at < calls.length; at += 100) await chargeCalls(given(), calls.slice(at, at + 100));
      await chargeCalls(given(), [finishedCall(id, { keyId })]);
      expect(await balance(id)).toBe(-1_100n * MOST_MICRO - 76n);
      expect(await faults()).toEqual([]);
    });

    test('posted concurrently it is charged once: ledger, key, day and call agree', async () => {
      const id = await company();
      const keyId = newId();
      const tokens = { promptTokens: 1_000_000, cachedTokens: 0, completionTokens: 0 };
      const call = finishedCall(id, { keyId, tokens, tokenBounds: BOUNDS, monthlyLimitMicro: 10n });
      await chargeCalls(given(), [call]);
      expect(await balance(id)).toBe(-200_000n);
      const posted = await Promise.all(Array.from({ length: 8 }, () => post(call.id)));
      expect(posted.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 8 }, () => 'resolved'));
      expect(posted.filter((one) => one.outcome === 'resolved' && one.isNew)).toHaveLength(1);
      expect(await balance(id)).toBe(-1_000_000n);
      expect(await readKeyMonth(given(), keyId, '2026-01-01')).toBe(1_000_000n);
      expect(await drop(call.id)).toMatchObject({ outcome: 'resolved-otherwise' });
      expect(await withheld(id)).toEqual([]);
      expect(await faults()).toEqual([]);
    });

    test('dropped usage is never charged, and cannot be posted later', async () => {
      const id = await company();
      const call = absurdCall(id);
      await chargeCalls(given(), [call]);
      expect(await drop(call.id)).toMatchObject({ outcome: 'resolved', isNew: true, level: null });
      expect(await drop(call.id)).toMatchObject({ outcome: 'resolved', isNew: false });
      expect(await post(call.id)).toMatchObject({ outcome: 'resolved-otherwise' });
      expect(await balance(id)).toBe(-MOST_MICRO);
      expect(await post(newId())).toEqual({ outcome: 'not-found' });
      expect(await faults()).toEqual([]);
    });

    test('what is posted of a call counts for each of its tags, also where they share a row', async () => {
      await given().query('insert into usage_subject_limit (per_day) values (1)');
      const call = finishedCall(await company(), {
        ...{ keyId: newId(), tags: ['a', 'b', 'c'], project: 'web' },
        tokens: { promptTokens: 1_000, cachedTokens: 0, completionTokens: 0 },
        tokenBounds: { promptTokens: 100, completionTokens: 1 },
      });
      await chargeCalls(given(), [call]);
      await post(call.id);
      expect(await faults()).toEqual([]);
      await given().query('delete from usage_subject_limit');
    });

    test('usage that the ledger cannot hold is not posted, and can be dropped', async () => {
      const id = await company();
      const call = absurdCall(id, { alias: 'svc/chat-premium' });
      await chargeCalls(given(), [call]);
      await given().query(
        `update withheld_usage set excess_micro = 100000000000000000000000000 where call_id = $1`,
        [call.id],
      );
      const before = await balance(id);
      expect(await post(call.id)).toMatchObject({ outcome: 'wrong-amount' });
      expect(await balance(id)).toBe(before);
      expect(await drop(call.id)).toMatchObject({ outcome: 'resolved' });
      await given().query('update withheld_usage set excess_micro = $2 where call_id = $1', [
        call.id,
        25n * BigInt(ABSURD) - (1_000_000n + 20n * 16_384n),
      ]);
      expect(await faults()).toEqual([]);
    });
  });
}
