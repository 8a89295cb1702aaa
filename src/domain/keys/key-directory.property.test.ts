import { expect, test } from 'bun:test';
import { createKeyRecords } from '../../../test/doubles/key-records.ts';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSeededRandom } from '../../../test/doubles/seeded-random.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { createSteeredMessages } from '../../../test/doubles/steered-messages.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import type { DatabaseFailure, SqlValue, Statements } from '../../ports/database.ts';
import { createKeyDirectory } from './key-directory.ts';
import type { KeyLookup } from './key-lookup.ts';

const secrets = createSystemSecrets();
const RUNS = 150;
const STEPS = 120;
const FRESH_MS = 1_000;
const STALE_MS = 10_000;

interface Subject {
  readonly rawKey: string;
  readonly hash: string;
  readonly expiresAtMs: number;
  revokedAtMs: number;
  publishedAtMs: number;
}

/**
 * Finds, revocations, messages that come or are lost, gaps, outages and answers in any order, out of a seed. The
 * rules are checked against what the store and the messages really did, at every answer.
 */
async function run(seed: number, withOutages: boolean): Promise<void> {
  const random = createSeededRandom(seed);
  const clock = createManualClock();
  const start = clock.now();
  const records = createKeyRecords();
  const messages = createSteeredMessages(clock);
  const answers: { readonly arrive: () => void; readonly sentAtMs: number }[] = [];
  let outage = false;
  let lastOutageMs = Number.NEGATIVE_INFINITY;
  const database: Statements = {
    ...records,
    // Read at once and answered later, in any order.
    async query<R>(text: string, values: readonly SqlValue[] = []) {
      const rows = outage ? null : await records.query<R>(text, values);
      const sentAtMs = clock.now();
      await new Promise<void>((arrive) => answers.push({ arrive, sentAtMs }));
      if (rows !== null) return rows;
      throw Object.assign(new Error('away'), {
        name: 'DatabaseFailure',
        reason: 'unavailable',
      } as DatabaseFailure);
    },
  };
  const log = createSilentLog();
  const bounds = { maxEntries: 4, maxUnknownEntries: 2, freshMs: FRESH_MS, staleMs: STALE_MS };
  const directory = await createKeyDirectory({
    database,
    sharedState: messages,
    clock,
    secrets,
    log,
    ...bounds,
  });
  const subjects = Array.from({ length: 6 }, (): Subject => {
    const expiresAtMs = random.below(3) === 0 ? start + random.below(8_000) : Number.POSITIVE_INFINITY;
    const expiresAt = expiresAtMs === Number.POSITIVE_INFINITY ? null : new Date(expiresAtMs);
    const never = Number.POSITIVE_INFINITY;
    return { ...records.mint({ expiresAt }), expiresAtMs, revokedAtMs: never, publishedAtMs: never };
  });
  const late: Promise<void>[] = [];
  let waiting = 0;

  function check(subject: Subject, found: KeyLookup, askedAtMs: number): void {
    const nowMs = clock.now();
    const was = `seed ${seed}, ${nowMs - start} ms: ${found.outcome}, asked at ${askedAtMs - start}`;
    const { expiresAtMs, revokedAtMs, publishedAtMs } = subject;
    const outageBehind = nowMs - lastOutageMs < STALE_MS + FRESH_MS;
    if (found.outcome === 'live') {
      expect(expiresAtMs > nowMs, `${was}: past its expiry`).toBe(true);
      expect(publishedAtMs >= askedAtMs, `${was}: after a published revocation`).toBe(true);
      if (!outageBehind) expect(revokedAtMs > askedAtMs - FRESH_MS, `${was}: revoked long ago`).toBe(true);
    } else if (found.outcome === 'unknown') {
      expect(Math.min(expiresAtMs, revokedAtMs) <= nowMs, `${was}: but it is live`).toBe(true);
    } else {
      expect(outageBehind, `${was}: but the store answers`).toBe(true);
    }
  }

  function find(subject: Subject): void {
    const askedAtMs = clock.now();
    const found = directory.find(subject.rawKey);
    if (!(found instanceof Promise)) {
      check(subject, found, askedAtMs);
      return;
    }
    waiting += 1;
    late.push(
      found.then((answer) => {
        waiting -= 1;
        check(subject, answer, askedAtMs);
      }),
    );
  }

  async function revoke(subject: Subject): Promise<void> {
    subject.revokedAtMs = Math.min(subject.revokedAtMs, clock.now());
    records.revoke(subject.hash);
    if (random.below(2) === 0) return;
    await messages.publish('keys', subject.hash);
    subject.publishedAtMs = Math.min(subject.publishedAtMs, clock.now());
  }

  /** Without outages every answer takes less than a second. */
  async function advance(ms: number): Promise<void> {
    const isLate = ({ sentAtMs }: { sentAtMs: number }) => clock.now() + ms - sentAtMs >= FRESH_MS;
    if (!withOutages && answers.some(isLate)) for (const { arrive } of answers.splice(0)) arrive();
    await clock.advance(ms);
  }

  for (let step = 0; step < STEPS; step += 1) {
    const subject = random.pick(subjects);
    const choice = random.below(100);
    if (choice < 55) find(subject);
    else if (choice < 75) answers.splice(random.below(answers.length), 1)[0]?.arrive();
    else if (choice < 93) await advance(random.below(random.pick([5, 60, 700])));
    else if (choice < 95) await revoke(subject);
    else if (choice < 96) messages.gap();
    else if (withOutages) outage = !outage;
    if (outage) lastOutageMs = clock.now();
    expect(answers.length).toBeLessThanOrEqual(2);
  }
  outage = false;
  for (let rounds = 0; rounds < 50 && waiting > 0; rounds += 1) {
    for (const { arrive } of answers.splice(0)) arrive();
    await clock.advance(1);
  }
  expect(waiting, `seed ${seed}: a look-up never ends`).toBe(0);
  await Promise.all(late);
  for (const { arrive } of answers.splice(0)) arrive();
  await directory.close();
}

test('G-23 G-24 in any order of events a look-up returns live only for a live key', async () => {
  for (let seed = 1; seed <= RUNS; seed += 1) await run(seed, false);
});

test('G-23 G-24 during outages, too, no look-up returns a key past its expiry or a published revocation', async () => {
  for (let seed = 1_001; seed <= 1_000 + RUNS; seed += 1) await run(seed, true);
});
