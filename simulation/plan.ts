import { createSeededRandom, type SeededRandom } from '../test/doubles/seeded-random.ts';
import type { DatabaseTrouble } from './frame/database.ts';
import type { StateTrouble } from './frame/shared-state.ts';

/** One call of a client, with all its tries. */
export interface PlannedCall {
  readonly kind: 'call';
  readonly number: number;
  readonly company: number;
  readonly key: number;
  readonly isStream: boolean;
  readonly promptBytes: number;
  readonly maxTokens: number;
  readonly idempotencyKey: string | null;
  readonly tries: number;
  /** Also after it was answered. */
  readonly isRepeated: boolean;
  /** Before a retry. */
  readonly patienceMs: number;
  /** The client leaves after so many chunks; null stays. */
  readonly leavesAfter: number | null;
  readonly process: number;
  readonly firstByteMs: number;
  readonly status: number;
  readonly chunks: number;
  readonly chunkMs: number;
  readonly breaksAfter: number | null;
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number } | null;
}

/** What happens in the simulated world by plan. Everything else follows from it and the seed. */
export type Deed =
  | PlannedCall
  | { readonly kind: 'top-up'; readonly company: number; readonly calls: number; readonly number: number }
  | { readonly kind: 'subscription'; readonly life: number; readonly seed: number }
  | { readonly kind: 'pack'; readonly company: number; readonly number: number }
  | { readonly kind: 'database'; readonly trouble: DatabaseTrouble; readonly forMs: number }
  /** The standby has everything up to now; after `lagMs` it takes over, and `awayMs` later it answers. */
  | { readonly kind: 'database-fail-over'; readonly lagMs: number; readonly awayMs: number }
  | { readonly kind: 'state'; readonly trouble: StateTrouble; readonly forMs: number }
  | { readonly kind: 'state-flush' }
  | { readonly kind: 'state-fail-over'; readonly lostMs: number }
  | {
      readonly kind: 'kill';
      readonly process: number;
      readonly requests: number;
      readonly when: 'before' | 'after';
      readonly restartMs: number;
    }
  | { readonly kind: 'clock'; readonly process: number; readonly stepMs: number }
  | { readonly kind: 'disk-full'; readonly forMs: number }
  | {
      readonly kind: 'deliveries';
      readonly how: 'lost' | 'late' | 'twice';
      readonly percent: number;
      readonly forMs: number;
    }
  | { readonly kind: 'provider-away'; readonly forMs: number }
  /** A read of the calls, by the gateway or by the platform. */
  | { readonly kind: 'look'; readonly process: number }
  /** Every process is killed and started again so many hours later; one of them some minutes after the others. */
  | { readonly kind: 'leap'; readonly hours: number; readonly late: number; readonly lateMs: number };

export interface PlannedDeed {
  readonly atMs: number;
  readonly deed: Deed;
}

export const GATEWAYS = 2;
/** The processes: gateways first, then the platform. */
export const PLATFORM = GATEWAYS;
export const COMPANIES = 5;
export const KEYS = 2;
/** Those of the companies that have a subscription. */
export const LIVES = 2;

const HOUR_MS = 3_600_000;
const CALL_EVERY_MS = 40_000;
const TOP_UP_EVERY_MS = 300_000;
const SUBSCRIPTION_EVERY_MS = 90_000;
const FAULTS_EVERY_MS = 200_000;
const LEAP_AFTER_MS = 260_000;
const BURST_EVERY_MS = 45_000;
/** What an embedded system cannot have: its database has no standby, and shared state is in its memory. */
const OF_SERVERS: readonly Deed['kind'][] = ['database-fail-over', 'state', 'state-flush', 'state-fail-over'];

/** The same for the same seed. `only` names the kinds of faults, all where none is. Each deed draws on a source of its own, so that one can be left out alone. */
export function planOf(seed: number, hours: number, only: readonly Deed['kind'][] = []): PlannedDeed[] {
  const random = createSeededRandom(seed * 7_919 + 17);
  const deeds: PlannedDeed[] = [];
  const endMs = hours * HOUR_MS;
  let number = 0;
  const add = (atMs: number, deed: Deed) => deeds.push({ atMs: Math.round(atMs), deed });
  const moments = (everyMs: number, work: (atMs: number) => void) => {
    for (let atMs = random.below(everyMs); atMs < endMs; atMs += 1 + random.below(2 * everyMs)) work(atMs);
  };
  moments(CALL_EVERY_MS, (atMs) => {
    const company = random.below(COMPANIES);
    const count = random.below(4) === 0 ? 3 + random.below(6) : 1;
    for (let one = 0; one < count; one += 1) {
      number += 1;
      add(atMs + random.below(count === 1 ? 1 : 1_500), drawCall(random, number, company));
    }
  });
  moments(TOP_UP_EVERY_MS, (atMs) => {
    number += 1;
    const isRefund = random.below(6) === 0;
    const calls = isRefund ? -(1 + random.below(3)) : 1 + random.below(6);
    if (random.below(4) === 0) add(atMs, { kind: 'pack', company: random.below(2), number });
    else add(atMs, { kind: 'top-up', company: random.below(3), calls, number });
  });
  moments(SUBSCRIPTION_EVERY_MS, (atMs) =>
    add(atMs, { kind: 'subscription', life: random.below(LIVES), seed: random.below(2 ** 30) }),
  );
  moments(FAULTS_EVERY_MS, (atMs) => {
    // One fault alone, or two to four within half a minute.
    const count = random.pick([1, 2, 2, 3, 4]);
    const drawn = Array.from({ length: count }, () => drawOneOf(random, only));
    const faults = drawn.filter(
      (one, at) => one.kind !== 'leap' || drawn.findIndex(({ kind }) => kind === 'leap') === at,
    );
    const leap = faults.find((fault) => fault.kind === 'leap');
    const company = leap === undefined ? random.below(random.pick([3, COMPANIES])) : COMPANIES - 1;
    // Where something breaks there are calls: many at once of a company that has little left, or of any.
    const calls = Array.from({ length: 3 + random.below(6) }, () => {
      number += 1;
      return drawCall(random, number, company);
    });
    for (const fault of faults) add(atMs + (fault === leap ? LEAP_AFTER_MS : random.below(20_000)), fault);
    for (const call of calls) {
      if (leap === undefined) add(atMs + random.below(22_000), call);
      else add(atMs + random.below(3_000), repeated(call, leap.late));
    }
    if (leap === undefined) return;
    // Before a long time a gateway dies with calls in its journal, whose clients repeat them at the other one.
    add(atMs + 4_000, { kind: 'database', trouble: { kind: 'away' }, forMs: 16_000 });
    const { late: process } = leap;
    add(atMs + 14_000, { kind: 'kill', process, requests: 0, when: 'before', restartMs: LEAP_AFTER_MS * 2 });
  });
  return deeds.sort((one, other) => one.atMs - other.atMs);
}

/**
 * The same for one gateway that has the database in its process: besides, calls that end together, are read at once, and are followed by
 * a kill now and then.
 */
export function embeddedPlanOf(
  seed: number,
  hours: number,
  only: readonly Deed['kind'][] = [],
): PlannedDeed[] {
  const random = createSeededRandom(seed * 6_007 + 29);
  const deeds = planOf(seed, hours, only).filter(({ deed }) => !OF_SERVERS.includes(deed.kind));
  const endMs = hours * HOUR_MS;
  let number = Math.max(0, ...deeds.map(({ deed }) => ('number' in deed ? deed.number : 0)));
  for (let atMs = random.below(BURST_EVERY_MS); atMs < endMs; atMs += 1 + random.below(2 * BURST_EVERY_MS)) {
    // The first three have little: they get enough for some of the calls.
    const company = random.pick([0, 1, 2, 3, 3, 4, 4]);
    const count = 2 + random.below(20);
    if (company < 3) {
      number += 1;
      const topUp = { kind: 'top-up' as const, company, calls: 2 + random.below(6), number };
      deeds.push({ atMs: Math.max(0, atMs - 2_000), deed: topUp });
    }
    for (let one = 0; one < count; one += 1) {
      number += 1;
      const quick = { firstByteMs: 5 + random.below(60), chunkMs: 5 + random.below(20) };
      const call = { ...drawCall(random, number, company), ...quick };
      deeds.push({ atMs: atMs + random.below(600), deed: call });
    }
    const lookers = Array.from({ length: random.below(4) }, () => random.pick([0, PLATFORM]));
    for (const process of lookers)
      deeds.push({ atMs: atMs + random.below(800), deed: { kind: 'look', process } });
    if ((only.length > 0 && !only.includes('kill')) || random.below(3) > 0) continue;
    const when = random.pick(['before', 'after'] as const);
    const kill = { kind: 'kill' as const, process: 0, requests: random.below(25), when };
    deeds.push({ atMs: atMs + random.below(700), deed: { ...kill, restartMs: 100 + random.below(5_000) } });
  }
  return deeds.sort((one, other) => one.atMs - other.atMs);
}

/** On an embedded system the database refuses the row of such a call for what it contains. */
export function hasBadRow({ number, idempotencyKey }: PlannedCall): boolean {
  return idempotencyKey === null && number % 13 === 5;
}

/** The same for the calls of a statement, by the request ids in it. */
export function hasBadRowAmong(planned: ReadonlyMap<number, PlannedCall>, calls: string): boolean {
  for (const [, number] of calls.matchAll(/"request":"r(\d+)-/g)) {
    const call = planned.get(Number(number));
    if (call !== undefined && hasBadRow(call)) return true;
  }
  return false;
}

/** One that a client repeats although it was answered, before and after the processes were down. */
function repeated(call: PlannedCall, process: number): PlannedCall {
  const idempotencyKey = `again-${call.number}`;
  const answered = { status: 200, breaksAfter: null, leavesAfter: null, firstByteMs: 5_000, chunkMs: 500 };
  return { ...call, ...answered, process, idempotencyKey, isRepeated: true, tries: 6, patienceMs: 45_000 };
}

function drawCall(random: SeededRandom, number: number, company: number): PlannedCall {
  const isStream = random.below(2) === 0;
  const maxTokens = 200 + random.below(1_800);
  const promptBytes = 200 + random.below(4_000);
  const isWrong = random.below(25) === 0;
  const usage =
    random.below(20) === 0
      ? null
      : {
          promptTokens: 1 + random.below(Math.floor(promptBytes / 4)),
          completionTokens: isWrong ? maxTokens * (2 + random.below(1_000)) : random.below(maxTokens + 1),
        };
  return {
    kind: 'call',
    number,
    company,
    key: random.below(KEYS),
    isStream,
    promptBytes,
    maxTokens,
    idempotencyKey: random.below(3) === 0 ? `again-${number}` : null,
    tries: 1 + random.below(4),
    isRepeated: random.below(3) === 0,
    patienceMs: random.pick([50, 1_000, 20_000, 70_000, 600_000]),
    leavesAfter: random.below(8) === 0 ? random.below(4) : null,
    process: random.below(GATEWAYS),
    firstByteMs: 50 + random.below(4_000),
    status: random.below(15) === 0 ? random.pick([0, 500, 429, 400]) : 200,
    chunks: 1 + random.below(6),
    chunkMs: 20 + random.below(3_000),
    breaksAfter: random.below(15) === 0 ? random.below(4) : null,
    usage,
  };
}

/** Everything but class 22 and 23, which say that a row is wrong: here none is. */
const SQL_STATES = [
  '40001',
  '40P01',
  '53300',
  '53100',
  '57P01',
  '57P03',
  '25006',
  '42501',
  '28P01',
  '08006',
  'XX000',
  null,
];

/** Of these kinds alone, where some are named. */
function drawOneOf(random: SeededRandom, only: readonly Deed['kind'][]): Deed {
  for (;;) {
    const fault = drawFault(random);
    if (only.length === 0 || only.includes(fault.kind)) return fault;
  }
}

function drawFault(random: SeededRandom): Deed {
  const forMs = random.pick([300, 3_000, 20_000, 90_000]) + random.below(3_000);
  const percent = random.pick([5, 30, 100]);
  const process = random.below(GATEWAYS + 1);
  switch (random.below(17)) {
    case 0:
      return { kind: 'database', trouble: { kind: 'away' }, forMs };
    case 1:
      return { kind: 'database', trouble: { kind: 'silent' }, forMs };
    case 2:
    case 3:
      return {
        kind: 'database',
        trouble: { kind: 'errors', percent, sqlState: random.pick(SQL_STATES) },
        forMs,
      };
    case 4:
    case 14:
      return { kind: 'database-fail-over', lagMs: 500 + random.below(20_000), awayMs: random.below(5_000) };
    case 5:
      return { kind: 'state', trouble: { kind: random.pick(['away', 'silent'] as const) }, forMs };
    case 6:
      return { kind: 'state', trouble: { kind: 'errors', percent }, forMs };
    case 7:
    case 15:
      return { kind: 'state-flush' };
    case 8:
      return { kind: 'state-fail-over', lostMs: random.below(2_000) };
    case 9:
    case 10:
      return {
        kind: 'kill',
        process,
        requests: random.below(40),
        when: random.pick(['before', 'after'] as const),
        restartMs: 500 + random.below(60_000),
      };
    case 11:
    case 16:
      return {
        kind: 'clock',
        process,
        stepMs: random.pick([-7_200_000, -90_000, -2_000, 3_000, 120_000, 7_200_000]),
      };
    case 12:
      return random.below(3) === 0
        ? { kind: 'disk-full', forMs }
        : {
            kind: 'deliveries',
            how: random.pick(['lost', 'late', 'twice'] as const),
            percent,
            forMs: 60_000 + forMs,
          };
    default:
      if (random.below(3) > 0) return { kind: 'provider-away', forMs };
      return {
        ...{ kind: 'leap', hours: random.pick([1, 26, 26, 24 * 9]) },
        ...{ late: random.below(GATEWAYS), lateMs: random.pick([0, 60_000, 600_000]) },
      };
  }
}
