import { listSetAside, repairSetAside } from '../src/domain/calls/settlement/set-aside-calls.ts';
import { createHeldCredits } from '../src/domain/credits/holds/holds.ts';
import { HANDLED_EVENT_KINDS } from '../src/domain/payments/apply-event.ts';
import { AUDIT_CHECKS } from '../src/domain/reconciliation/audit.ts';
import { runCheck } from '../src/domain/reconciliation/audit-check.ts';
import type { Database } from '../src/ports/database.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import { type BaseWorld, START_MS } from './base-world.ts';
import { Violation } from './books.ts';
import { buyPack, makeCall, readCalls, topUp } from './clients.ts';
import type { Snapshot } from './frame/database.ts';
import { replaceGlobals } from './frame/globals.ts';
import { type Deed, PLATFORM, type PlannedDeed } from './plan.ts';
import { compareWithMoney, takeStep } from './subscriptions.ts';
import { createWorld, excuse, type PortChanges, trouble, type World } from './world.ts';

export interface Played {
  readonly steps: number;
  /** Of simulated time, what was leapt over included. */
  readonly hours: number;
  readonly violation: Violation | null;
  readonly lines: readonly string[];
}

export interface PlayParts {
  readonly base: BaseWorld;
  readonly database: Database;
  /** Everything as it is at the beginning of each simulation. */
  readonly beginning: Snapshot;
  readonly changes?: PortChanges;
}

const HOUR_MS = 3_600_000;
const HEALED_MS = 110_000;
const CHECKED_EVERY_STEPS = 500;

/** Plays a plan from the beginning, up to its end or its first violation. The same plan and seed give the same steps. */
export async function play(
  parts: PlayParts,
  seed: number,
  plan: readonly PlannedDeed[],
  hours: number,
): Promise<Played> {
  const { base, database, beginning, changes } = parts;
  const world = createWorld(base, database, seed, changes);
  const putBack = replaceGlobals({ nowMs: world.scheduler.nowMs, random: world.random, fetch: world.fetch });
  try {
    await world.database.restore(beginning, { withProvider: true });
    await world.books.read();
    await world.begin();
    for (let index = 0; index <= PLATFORM; index += 1) world.start(index);
    await playAll(world, plan, hours);
  } catch (error) {
    world.violation ??=
      error instanceof Violation ? error : new Violation(`unexpected: ${(error as Error).stack}`);
  } finally {
    await world.close();
    putBack();
  }
  const { scheduler, violation, lines } = world;
  return { steps: scheduler.steps(), hours: (scheduler.nowMs() - START_MS) / HOUR_MS, violation, lines };
}

async function playAll(world: World, plan: readonly PlannedDeed[], hours: number): Promise<void> {
  const { scheduler } = world;
  const afterStep = createChecks(world);
  let leaptMs = 0;
  for (const { atMs, deed } of plan) {
    await scheduler.runUntil(START_MS + leaptMs + atMs, afterStep);
    leaptMs += begin(world, deed);
    await afterStep();
  }
  await scheduler.runUntil(START_MS + leaptMs + hours * HOUR_MS, afterStep);
  await heal(world, afterStep);
}

/** Starts what a deed does; how long it leapt. */
function begin(world: World, deed: Deed): number {
  if (deed.kind !== 'call') world.trace(`* ${JSON.stringify(deed)}`);
  switch (deed.kind) {
    case 'call':
      void world.track(makeCall(world, deed));
      return 0;
    case 'top-up':
      void world.track(topUp(world, deed.company, deed.calls, deed.number));
      return 0;
    case 'pack':
      void world.track(buyPack(world, deed.company));
      return 0;
    case 'subscription': {
      const life = world.lives[deed.life];
      if (life !== undefined) void world.track(takeStep(world.desk, world.base.plans, life, deed.seed));
      return 0;
    }
    case 'look':
      void world.track(readCalls(world, deed.process));
      return 0;
    default:
      return beginFault(world, deed);
  }
}

type Fault = Exclude<Deed, { readonly kind: 'call' | 'top-up' | 'pack' | 'subscription' | 'look' }>;

function beginFault(world: World, fault: Fault): number {
  const { scheduler, outside, database, state, disks } = world;
  const later = (forMs: number, work: () => void) => void scheduler.at(outside, forMs, work);
  switch (fault.kind) {
    case 'database': {
      const { trouble: what } = fault;
      database.trouble = what;
      trouble(world, fault.forMs);
      later(fault.forMs, () => {
        if (database.trouble === what) database.trouble = null;
      });
      return 0;
    }
    case 'database-fail-over':
      failOver(world, fault);
      return 0;
    case 'state': {
      const { trouble: what } = fault;
      state.trouble = what;
      trouble(world, fault.forMs);
      excuse(world, fault.forMs);
      later(fault.forMs, () => {
        if (state.trouble !== what) return;
        state.trouble = null;
        state.reconnect();
        excuse(world, 0);
      });
      return 0;
    }
    case 'state-flush':
      state.flush();
      trouble(world, 1_000);
      return 0;
    case 'state-fail-over':
      state.failOver(fault.lostMs);
      trouble(world, 1_000);
      excuse(world, 1_000);
      return 0;
    case 'kill':
      kill(world, fault);
      return 0;
    case 'clock': {
      const process = world.processes[fault.process];
      if (process != null) process.owner.clockOffsetMs += fault.stepMs;
      trouble(world, 1_000);
      return 0;
    }
    case 'disk-full':
      for (const disk of disks) disk.isFull = true;
      world.diskFullUntilMs = scheduler.nowMs() + fault.forMs;
      trouble(world, fault.forMs);
      later(fault.forMs, () => {
        for (const disk of disks) disk.isFull = false;
      });
      return 0;
    case 'deliveries': {
      const { how, percent } = fault;
      const what = { how, percent };
      world.deliveries = what;
      later(fault.forMs, () => {
        if (world.deliveries === what) world.deliveries = null;
      });
      return 0;
    }
    case 'provider-away':
      world.isProviderUnavailable = true;
      later(fault.forMs, () => {
        world.isProviderUnavailable = false;
      });
      return 0;
    case 'leap':
      return leap(world, fault);
  }
}

function failOver(world: World, { lagMs, awayMs }: Extract<Fault, { kind: 'database-fail-over' }>): void {
  const { scheduler, outside, database, books } = world;
  trouble(world, lagMs + awayMs + 10_000);
  void database.snapshotInTurn(outside).then((snapshot) => {
    scheduler.at(outside, lagMs, () => {
      const away = { kind: 'away' as const };
      database.trouble = away;
      const restoring = scheduler.hold();
      void database
        .stepBack(snapshot)
        .then(() => books.stepBack())
        .catch((error: unknown) => {
          world.violation ??= error as Violation;
        })
        .finally(restoring);
      world.trace('the standby takes over: what was committed since then is lost');
      scheduler.at(outside, awayMs, () => {
        if (database.trouble === away) database.trouble = null;
      });
    });
  });
}

function kill(
  world: World,
  { process: index, requests, when, restartMs }: Extract<Fault, { kind: 'kill' }>,
): void {
  const { scheduler, outside } = world;
  const process = world.processes[index];
  if (process == null || !process.owner.isAlive) return;
  process.owner.dieAfter = { requests, when };
  trouble(world, restartMs + 10_000);
  void process.died.then(() => {
    trouble(world, restartMs + 10_000);
    scheduler.at(outside, restartMs, () => {
      if (world.processes[index] === process) world.start(index);
    });
  });
}

function leap(world: World, { hours, late, lateMs }: Extract<Fault, { kind: 'leap' }>): number {
  for (const process of world.processes) if (process !== null) world.scheduler.kill(process.owner);
  world.processes[late] = null;
  world.scheduler.leap(hours * HOUR_MS);
  for (let index = 0; index <= PLATFORM; index += 1) {
    if (index !== late) world.start(index);
    else
      world.scheduler.at(world.outside, lateMs, () => world.processes[index] === null && world.start(index));
  }
  trouble(world, lateMs + 10_000);
  excuse(world, 0);
  return hours * HOUR_MS;
}

/** After every step: the books, as far as they have changed, and what must be in them; now and then what is dearer. */
function createChecks(world: World): () => Promise<void> {
  const { database, books, scheduler } = world;
  let seen = -1;
  let nextLook = CHECKED_EVERY_STEPS;
  return async () => {
    if (database.changes() !== seen && database.isFree()) {
      seen = database.changes();
      await books.read();
    }
    // While another transaction is open, what was committed just before it is not read yet.
    if (database.changes() === seen) books.check();
    if (world.violation !== null) throw world.violation;
    if (scheduler.steps() < nextLook || !database.isFree()) return;
    nextLook = scheduler.steps() + CHECKED_EVERY_STEPS;
    await checkEvents(world);
  };
}

/** Each event is applied, or waits for a moment that is known, or says why it needs a person. */
async function checkEvents({ database }: World): Promise<void> {
  const [without] = await database.direct.query<{ id: string; status: string }>(
    `select provider_event_id as id, status from provider_events
     where status in ('DEFERRED', 'FAILED') and error is null and waits_for = '{}'
       or status = 'RECEIVED' and next_attempt_at is null limit 1`,
  );
  if (without !== undefined) throw new Violation(`event ${without.id} is ${without.status} without a reason`);
}

/** Every fault ends. Then the world has some minutes to come to rest, and all of it is checked. */
async function heal(world: World, afterStep: () => Promise<void>): Promise<void> {
  const { scheduler, database, state, disks } = world;
  [database.trouble, state.trouble, world.deliveries] = [null, null, null];
  world.isProviderUnavailable = false;
  for (const disk of disks) disk.isFull = false;
  state.reconnect();
  for (const [index, process] of world.processes.entries()) {
    if (process === null) {
      world.start(index);
      continue;
    }
    process.owner.dieAfter = null;
    process.owner.clockOffsetMs = 0;
    if (!process.owner.isAlive) world.start(index);
  }
  world.trace('every fault is over');
  const restsAtMs = scheduler.nowMs() + HEALED_MS;
  await scheduler.runUntil(restsAtMs, afterStep);
  for (let wait = 0; wait < 60 && world.tracked() > 0; wait += 1) {
    await scheduler.runUntil(scheduler.nowMs() + 60_000, afterStep);
  }
  await scheduler.runUntil(scheduler.nowMs() + HEALED_MS, afterStep);
  await catchUp(world, afterStep);
  while (!database.isFree()) await scheduler.runUntil(scheduler.nowMs() + 100, afterStep);
  await checkEnd(world);
}

async function catchUp(world: World, afterStep: () => Promise<void>): Promise<void> {
  const { scheduler } = world;
  for (let round = 0; round < 3; round += 1) {
    let isDone = false;
    void world.processes[PLATFORM]?.platform?.catchUp().finally(() => {
      isDone = true;
    });
    for (let wait = 0; wait < 60 && !isDone; wait += 1)
      await scheduler.runUntil(scheduler.nowMs() + 10_000, afterStep);
    if (!isDone) throw new Violation('the reconciliation of payments does not end');
  }
}

/** An operator has repaired what is wrong with them: each is charged then. No other call was set aside. */
async function repairBadRows({ database: { direct }, books, isEmbedded }: World): Promise<void> {
  for (const { id, reason, fields } of await listSetAside(direct, 10_000)) {
    const one = books.tries.get(String(fields?.requestId));
    if (!isEmbedded || one?.isBad !== true) throw new Violation(`a call was set aside: ${reason}`);
    const { outcome } = await repairSetAside(direct, id);
    if (outcome !== 'charged') throw new Violation(`a call that was set aside is ${outcome}`);
  }
  await books.read();
  books.check();
}

async function checkEnd(world: World): Promise<void> {
  const { database, disks, base, desk, lives, state } = world;
  const { direct } = database;
  if (world.tracked() > 0) throw new Violation(`${world.tracked()} clients wait without end`);
  const left = disks.flatMap((disk) => [...disk.entries(), ...disk.log.entries()]);
  if (left.length > 0) throw new Violation(`${left.length} calls stay in journals`);
  await repairBadRows(world);
  const held = createHeldCredits({ sharedState: await state.look(), log: createSilentLog() });
  for (const { id } of base.companies) {
    const micro = (await held(id)) ?? 0n;
    if (micro > 0n) throw new Violation(`${micro} micro-credits of ${id} are held although no call runs`);
  }
  await checkEvents(world);
  const [missing] = await direct.query<{ id: string; type: string }>(
    `select object.id, body ->> 'type' as type from payment_sandbox_objects as object
     where kind = 'event' and body ->> 'type' = any($1::text[])
       and not exists (select 1 from provider_events where provider_event_id = object.id) limit 1`,
    [HANDLED_EVENT_KINDS],
  );
  if (missing !== undefined) throw new Violation(`event ${missing.id} (${missing.type}) never arrived`);
  for (const check of AUDIT_CHECKS) {
    const { faults } = await runCheck(direct, check);
    if (faults.length > 0) throw new Violation(`the audit finds: ${faults[0]}`);
  }
  for (const life of lives) await compareWithMoney(desk, direct, base.plans, life);
}
