import { readEntry } from '../src/domain/calls/settlement/journal-record.ts';
import { HANDLED_EVENT_KINDS } from '../src/domain/payments/apply-event.ts';
import { createPaymentSandbox } from '../src/payment-sandbox/server.ts';
import type { CallJournal, WriteAheadLog } from '../src/ports/call-journal.ts';
import type { Database } from '../src/ports/database.ts';
import type { Log, LogContext } from '../src/ports/log.ts';
import type { Claim, SharedState } from '../src/ports/shared-state.ts';
import { createSeededRandom, type SeededRandom } from '../test/doubles/seeded-random.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import { type BaseWorld, START_MS } from './base-world.ts';
import { type Books, createBooks, Violation } from './books.ts';
import { createSimulatedDatabase, type SimulatedDatabase } from './frame/database.ts';
import { createEmbeddedEngine, type EmbeddedEngine } from './frame/embedded-engine.ts';
import { createSimulatedDisk, type SimulatedDisk } from './frame/journal.ts';
import { createRequests, type Requests } from './frame/requests.ts';
import { createOwner, createScheduler, type Owner, type Scheduler } from './frame/scheduler.ts';
import { createSimulatedSecrets } from './frame/secrets.ts';
import { createSimulatedState, type SimulatedState } from './frame/shared-state.ts';
import { createSimulatedUpstream, type RunningUpstream, type UpstreamScript } from './frame/upstream.ts';
import { openGatewayProcess, type ProcessPorts } from './gateway-process.ts';
import { GATEWAYS, hasBadRowAmong, PLATFORM, type PlannedCall } from './plan.ts';
import { openPlatformProcess, openProvider, WEBHOOK_SECRET, WEBHOOK_URL } from './platform-process.ts';
import type { Fields, Life, ProviderDesk } from './subscriptions.ts';

/** What a fault of old times is put back by: it changes what processes reach the outside by. */
export interface PortChanges {
  readonly ports?: ((ports: ProcessPorts) => ProcessPorts) | undefined;
  readonly journal?: ((journal: CallJournal, ports: ProcessPorts) => CallJournal) | undefined;
  readonly writeAheadLog?: ((log: WriteAheadLog) => WriteAheadLog) | undefined;
  /** One gateway that has the database in its process, and the platform beside it. */
  readonly isEmbedded?: boolean | undefined;
}

export interface RunningProcess {
  readonly owner: Owner;
  readonly ports: ProcessPorts;
  /** Null until it is ready. */
  gateway: Awaited<ReturnType<typeof openGatewayProcess>> | null;
  platform: ReturnType<typeof openPlatformProcess> | null;
  readonly died: Promise<'died'>;
  /** Of a gateway on the embedded engine. */
  readonly engine: EmbeddedEngine | null;
}

export interface World {
  readonly base: BaseWorld;
  readonly isEmbedded: boolean;
  readonly random: SeededRandom;
  readonly scheduler: Scheduler;
  readonly requests: Requests;
  readonly database: SimulatedDatabase;
  readonly state: SimulatedState;
  /** One of each gateway's machine. */
  readonly disks: readonly SimulatedDisk[];
  readonly books: Books;
  readonly desk: ProviderDesk;
  readonly lives: readonly Life[];
  /** Clients, buyers and the provider of payments: they do not die. */
  readonly outside: Owner;
  readonly processes: (RunningProcess | null)[];
  readonly calls: Map<number, PlannedCall>;
  readonly running: Set<RunningUpstream>;
  /** Calls whose provider has answered to the end. */
  readonly answered: Set<number>;
  /** When the calls of a key reached the provider in the last minute, by the key's id. */
  readonly begunAtMs: Map<string, number[]>;
  deliveries: { readonly how: 'lost' | 'late' | 'twice'; readonly percent: number } | null;
  isProviderUnavailable: boolean;
  /** Until then a call may be refused because something is in trouble, or was a moment ago. */
  troubleUntilMs: number;
  /** Until then limits and holds may be exceeded: shared state was in trouble. */
  excusedUntilMs: number;
  /** Until then what a dead process held may still be held. */
  heldUntilMs: number;
  diskFullUntilMs: number;
  violation: Violation | null;
  trace(line: string): void;
  readonly lines: string[];
  fetch(request: Request): Promise<Response>;
  start(index: number): void;
  /** Work of the outside, to be waited for at the end. */
  track(work: Promise<unknown>): Promise<void>;
  tracked(): number;
  /** After the database is as it was at the beginning. */
  begin(): Promise<void>;
  close(): Promise<void>;
}

const RESTORE_MS = 40_000;
const MOST_LINES = 4_000;

export function createWorld(base: BaseWorld, real: Database, seed: number, changes: PortChanges = {}): World {
  const random = createSeededRandom(seed * 104_729 + 3);
  const scheduler = createScheduler(START_MS, random);
  const lines: string[] = [];
  const trace = (line: string) => {
    const time = new Date(scheduler.nowMs()).toISOString().slice(5, 23).replace('T', ' ');
    if (lines.length < MOST_LINES) lines.push(`${time}  ${line}`);
    else lines[MOST_LINES - 1] = `${time}  ${line}`;
  };
  const requests = createRequests({ scheduler, random, trace });
  const database = createSimulatedDatabase({ real, scheduler, random, requests });
  const state = createSimulatedState({ scheduler, random, requests });
  const { isEmbedded = false } = changes;
  const disks = Array.from({ length: GATEWAYS }, () => createSimulatedDisk(requests));
  const holds = new Map<string, bigint>();
  const outside = createOwner('outside');
  const clock = scheduler.clockOf(outside);
  const log = createSilentLog();
  const journaled = () =>
    new Set(
      disks.flatMap((disk) =>
        [...disk.entries(), ...disk.log.entries()].map((entry) => {
          const read = readEntry(entry);
          return read.outcome === 'read' ? read.call.requestId : entry.id;
        }),
      ),
    );
  const books = createBooks({
    database: real,
    journaled,
    nowMs: scheduler.nowMs,
    largestHold: (account) => holds.get(account) ?? 0n,
    areDeferred: isEmbedded,
  });
  const sandbox = createPaymentSandbox({
    ...{
      clock,
      secrets: createSimulatedSecrets(clock, random),
      log,
      database: database.connectSoundly(outside),
    },
    ...{ webhookSecret: WEBHOOK_SECRET, eventKinds: HANDLED_EVENT_KINDS, webhookUrl: () => WEBHOOK_URL },
    baseUrl: () => 'http://sandbox.simulated',
  });
  const upstreamOf = createSimulatedUpstream({
    scheduler,
    scriptOf: (number) => world.calls.get(number) as UpstreamScript,
    begun: (running) => begun(world, running),
    ended: (running, isWhole) => {
      world.running.delete(running);
      if (isWhole) world.answered.add(running.callNumber);
    },
  });

  /** What calls hold is read off the claims: the bound of an overdraft is the largest of them. */
  function measured(inner: SharedState): SharedState {
    const note = (tag: string, claims: readonly Claim[]) => {
      for (const claim of claims) {
        if (claim.kind === 'window' || typeof claim.limit === 'number') continue;
        const amount = BigInt(claim.amount);
        if (amount > (holds.get(tag) ?? 0n)) holds.set(tag, amount);
      }
    };
    return {
      ...inner,
      async reserve(tag, claims) {
        note(tag, claims);
        return await inner.reserve(tag, claims);
      },
    };
  }

  const world: World = {
    ...{ base, isEmbedded, random, scheduler, requests, database, state, disks, books, outside },
    ...{ trace, lines },
    processes: Array.from({ length: GATEWAYS + 1 }, () => null),
    calls: new Map(),
    running: new Set(),
    answered: new Set(),
    begunAtMs: new Map(),
    lives: base.companies.slice(-2).map(({ id, customer }) => ({
      ...{ companyId: id, customer, subscription: null, givenMinor: 0n },
    })),
    deliveries: null,
    isProviderUnavailable: false,
    ...{ troubleUntilMs: 0, excusedUntilMs: 0, heldUntilMs: 0, diskFullUntilMs: 0, violation: null },
    desk: deskOf(sandbox.fetch),
    async fetch(request) {
      const { hostname, pathname } = new URL(request.url);
      if (hostname === 'backend.simulated') return await deliver(world, request);
      const caller = world.processes.find((one) => hostname === `${one?.owner.name}.sandbox.simulated`);
      if (caller === undefined || caller === null) return await sandbox.fetch(request);
      const fault = () => {
        if (!world.isProviderUnavailable) return null;
        const when = random.pick(['before', 'after'] as const);
        return { when, error: new TypeError('fetch failed'), afterMs: 100 };
      };
      return await requests.send(
        caller.owner,
        `provider ${request.method} ${pathname}`,
        () => sandbox.fetch(request),
        fault,
      );
    },
    begin: () => sandbox.begin(),
    start: (index) => start(index),
    async track(work) {
      underWay += 1;
      await work.catch((error: unknown) => {
        world.violation ??= new Violation(`unexpected: ${(error as Error).stack}`);
      });
      underWay -= 1;
    },
    tracked: () => underWay,
    async close() {
      for (const process of world.processes) if (process !== null) scheduler.kill(process.owner);
      scheduler.kill(outside);
    },
  };

  if (isEmbedded) database.hasBadRow = (calls) => hasBadRowAmong(world.calls, calls);
  let generation = 0;
  let underWay = 0;
  function start(index: number): void {
    const isPlatform = index === PLATFORM;
    const parent = isEmbedded && isPlatform ? world.processes[0] : null;
    // Of an embedded system there is one gateway, and the platform is its child.
    if (isEmbedded && index !== 0 && (parent?.gateway == null || !parent.owner.isAlive)) return;
    generation += 1;
    const died = Promise.withResolvers<'died'>();
    const owner = createOwner(`${isPlatform ? 'platform' : `gateway-${index + 1}`}-${generation}`, () => {
      database.left(owner);
      state.left(owner);
      for (const one of world.running) if (one.owner === owner) world.running.delete(one);
      books.died(owner.name);
      if (!isEmbedded) world.heldUntilMs = scheduler.nowMs() + 100_000;
      else if (!isPlatform) endEmbedded(world);
      died.resolve('died');
    });
    const own = scheduler.clockOf(owner);
    const engine = isEmbedded && !isPlatform ? createEmbeddedEngine(database, scheduler, owner) : null;
    const given: ProcessPorts = {
      database: engine?.own ?? parent?.engine?.attach(owner) ?? database.connect(owner),
      sharedState: measured(engine === null ? state.connect(owner) : state.connectWithin(owner)),
      clock: own,
      secrets: createSimulatedSecrets(own, random),
      log: tracedLog(owner.name, trace),
    };
    const ports = changes.ports?.(given) ?? given;
    const process: RunningProcess = {
      ...{ owner, ports, gateway: null, platform: null, died: died.promise, engine },
    };
    world.processes[index] = process;
    trace(`${owner.name} starts`);
    if (isPlatform) {
      process.platform = openPlatformProcess(ports, openProvider(ports, owner.name));
      return;
    }
    const disk = disks[index] as SimulatedDisk;
    const file = disk.open(owner);
    const journal = changes.journal?.(file, ports) ?? file;
    const opened = disk.log.open(owner);
    const deferring = engine && {
      writes: engine.own.deferred,
      writeAheadLog: changes.writeAheadLog?.(opened) ?? opened,
      left: disk.log.left,
    };
    openGatewayProcess({
      ...{ ...ports, journal, upstream: upstreamOf(owner), deferring: deferring ?? undefined },
    }).then(
      (gateway) => {
        process.gateway = gateway;
        if (isEmbedded && owner.isAlive) start(PLATFORM);
      },
      () => {
        // It cannot start: it ends, and is started again, as by any supervisor.
        scheduler.kill(owner);
        world.troubleUntilMs = Math.max(world.troubleUntilMs, scheduler.nowMs() + 5_000);
        scheduler.at(outside, 2_000, () => start(index));
      },
    );
  }
  return world;
}

/** With the process that has the embedded parts ends its child, and what was in its memory. */
function endEmbedded({ processes, scheduler, state, begunAtMs }: World): void {
  const child = processes[PLATFORM];
  if (child != null) scheduler.kill(child.owner);
  state.flush();
  begunAtMs.clear();
}

/** What a process says is a part of the trace, from warnings on. */
function tracedLog(name: string, trace: (line: string) => void): Log {
  const write = (message: string, context: LogContext = {}) => {
    const { error } = context;
    trace(`${name} says: ${message}${error instanceof Error ? ` (${error.message})` : ''}`);
  };
  const log: Log = { debug() {}, info() {}, warn: write, error: write, with: () => log };
  return log;
}

const MINUTE_MS = 60_000;
/** A call reaches the provider at most so long after it was admitted. */
const ADMITTED_WITHIN_MS = 2_000;

/** A call has reached the provider, so it was admitted. */
function begun(world: World, running: RunningUpstream): void {
  const planned = world.calls.get(running.callNumber);
  if (planned === undefined) return;
  world.running.add(running);
  const isMeant = ({ callNumber }: RunningUpstream) => {
    const other = world.calls.get(callNumber);
    return other?.company === planned.company && other.key === planned.key;
  };
  const key = world.base.companies[planned.company]?.keys[planned.key];
  if (key === undefined || world.scheduler.nowMs() < world.excusedUntilMs) return;
  const count = [...world.running].filter(isMeant).length;
  if (key.callsInFlight !== null && count > key.callsInFlight) {
    world.violation ??= new Violation(
      `${count} calls of a key run at once, its limit is ${key.callsInFlight}`,
    );
  }
  const nowMs = world.scheduler.nowMs();
  const known = world.begunAtMs.get(key.id) ?? [];
  const inAMinute = [...known.filter((atMs) => atMs > nowMs - MINUTE_MS + ADMITTED_WITHIN_MS), nowMs];
  world.begunAtMs.set(key.id, inAMinute);
  if (inAMinute.length > key.requestsPerMinute) {
    world.violation ??= new Violation(
      `${inAMinute.length} calls of a key in a minute, its limit is ${key.requestsPerMinute}`,
    );
  }
}

/** The provider brings an event, by whatever way there is to the platform now. */
async function deliver(world: World, request: Request): Promise<Response> {
  const { scheduler, random, outside, deliveries } = world;
  const body = new Uint8Array(await request.arrayBuffer());
  const signature = request.headers.get('stripe-signature');
  await scheduler.wait(outside, 5 + random.below(400));
  const isMeant = deliveries !== null && random.below(100) < deliveries.percent;
  const bring = async (): Promise<number> => {
    const process = world.processes[PLATFORM];
    if (process?.platform == null || !process.owner.isAlive) throw new TypeError('connection refused');
    const answered = await Promise.race([process.platform.webhook(body, signature), process.died]);
    if (answered === 'died') throw new TypeError('connection reset');
    return answered;
  };
  if (isMeant && deliveries.how === 'lost') {
    world.trace('an event is lost on its way');
    return new Response('lost', { status: 200 });
  }
  if (isMeant && deliveries.how === 'late') {
    scheduler.at(outside, 60_000 + random.below(1_200_000), () => void bring().catch(() => {}));
    throw new TypeError('time-out');
  }
  if (isMeant) scheduler.at(outside, random.below(30_000), () => void bring().catch(() => {}));
  return new Response('taken', { status: await bring() });
}

function deskOf(fetch: (request: Request) => Promise<Response>): ProviderDesk {
  return {
    async call(method, path, parameters = {}) {
      const form = new URLSearchParams(parameters).toString();
      const hasBody = method === 'POST';
      const headers = {
        authorization: 'Bearer sk_test_simulated',
        ...(hasBody ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
      };
      const address = `http://sandbox.simulated${path}${hasBody || form === '' ? '' : `?${form}`}`;
      const answer = await fetch(
        new Request(address, { method, headers, ...(hasBody ? { body: form } : {}) }),
      );
      return (await answer.json()) as Fields;
    },
    own: (path, body) =>
      fetch(
        new Request(`http://sandbox.simulated${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        }),
      ),
  };
}

/** Shared state may have lost or not counted what was held; its processes put that right within this time. */
export function excuse(world: World, forMs: number): void {
  world.excusedUntilMs = Math.max(world.excusedUntilMs, world.scheduler.nowMs() + forMs + RESTORE_MS);
  world.books.excuse();
  world.begunAtMs.clear();
}

export function trouble(world: World, forMs: number): void {
  world.troubleUntilMs = Math.max(world.troubleUntilMs, world.scheduler.nowMs() + forMs);
}
