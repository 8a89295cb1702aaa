import { z } from 'zod';
import type { Clock, Timer } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import {
  type Breaker,
  type BreakerState,
  type BreakerView,
  createBreaker,
  type Entry,
  type LastError,
} from './breaker.ts';

export interface BreakersParts {
  readonly sharedState: SharedState;
  readonly clock: Clock;
  readonly log: Log;
  /** Consecutive failures that open a breaker. */
  readonly failures?: number;
  readonly cooldownMs?: number;
  /** Must not be shorter than the calls may take, or a slow service never passes its test. */
  readonly trialTimeoutMs?: number;
  /** The names that are configured now: exactly these are shown. If omitted, every name that was called is shown. */
  readonly services?: () => Iterable<string>;
  /** Identifies the messages of this process. If omitted, this process does not share its results. */
  readonly processId?: string;
}

export interface Breakers {
  /**
   * Asks whether a service may be called. Synchronous while closed or open, without access to shared state; only the
   * test of a half-open breaker is a promise.
   */
  enter(name: string): Entry | Promise<Entry>;
  /** Determined by time: a service without calls becomes half-open too. */
  states(): Readonly<Record<string, BreakerState>>;
  /** Consecutive failures of a service, including those that other processes shared; 0 while it is not closed. */
  failuresInARow(name: string): number;
  /** For monitoring; null for an unknown service. */
  troubleOf(name: string): ServiceTrouble | null;
  /** Registers a service before its first call: it is reported as closed, or as the other processes see it. */
  known(name: string): void;
  /** Removes a service that is no longer used. */
  forget(name: string): void;
  close(): Promise<void>;
}

interface ServiceTrouble {
  /** The latest error that this process saw or that another process published with a change of state. */
  readonly lastError: LastError | null;
  /** When the test may be made; in the past while half-open, null while closed. */
  readonly nextTryAtMs: number | null;
}

interface PublishedServiceParts {
  readonly sharedState: Pick<SharedState, 'get' | 'set' | 'publish'>;
  readonly clock: Clock;
}

/** The published state of a service, for a process that calls none itself. */
export interface PublishedService {
  readonly state: BreakerState;
  readonly lastError: LastError | null;
  /** In the past while half-open, null while closed. */
  readonly nextTryAtMs: number | null;
}

const FAILURES = 5;
const COOLDOWN_MS = 60_000;
const TRIAL_TIMEOUT_MS = 120_000;
/** How soon a process that missed a message sees the change, while the breaker is not closed. */
const REFRESH_MS = 500;
/** Far longer than any process takes to see a change; running processes write it again. */
const VIEW_TTL_MS = 24 * 3_600_000;
/** Services are configured by operators, and there are at most 192 targets. */
const MAX_SERVICES = 1_000;
/** Failures of a service that are sent to other processes per second; the rest are counted only by this one. */
const SHARED_FAILURES_PER_SECOND = 20;

/** The topic on which every change is published, and the key under which the last one of a service is stored. */
const BREAKERS_TOPIC = 'breakers';
const viewKey = (name: string) => `breaker:${name}`;
const trialKey = (name: string, epoch: number) => `breaker:${name}:trial:${epoch}`;

const LONGEST_NAME = 200;
const LONGEST_REASON = 200;

interface Service {
  readonly breaker: Breaker;
  refreshing: Timer | null;
  /** True if a change that was decided here has not reached shared state yet. */
  isUnpublished: boolean;
  /** The second in which failures were last sent, and their number. */
  sharing: { second: number; failures: number };
}

/**
 * Creates a breaker for each external AI service, in agreement with all other processes. Resolves once it receives
 * their messages.
 *
 * Consecutive failures are counted over all processes: each publishes its failures, and the success that ends them.
 * Opening and closing are published too, and stored for processes that start later or missed the message. A success
 * without a preceding failure does not access shared state; a breaker that is not closed is compared with the stored
 * state every half second. While shared state is unavailable each process uses its own view and makes its own tests.
 * That deliberately fails open: a lost cache must not block a service that works.
 */
export async function createBreakers(parts: BreakersParts): Promise<Breakers> {
  const { sharedState, clock, log, failures = FAILURES, cooldownMs = COOLDOWN_MS } = parts;
  const { trialTimeoutMs = TRIAL_TIMEOUT_MS } = parts;
  const services = new Map<string, Service>();
  let isClosed = false;
  let isUnavailable = false;

  /** Accesses shared state; null if it is unavailable, which is logged once per outage. */
  async function step<Result>(work: () => Promise<Result>): Promise<Result | null> {
    try {
      const result = await work();
      if (isUnavailable) log.info('breakers are shared between processes again');
      isUnavailable = false;
      return result;
    } catch (error) {
      if (!isUnavailable && !isClosed)
        log.warn('breakers are not shared: each process decides alone', { error });
      isUnavailable = true;
      return null;
    }
  }

  /** Null if the configured names are unknown. */
  const configured = () => (parts.services === undefined ? null : new Set(parts.services()));

  function share(name: string, service: Service, result: 'success' | 'failure', epoch: number): void {
    const from = parts.processId;
    if (from === undefined) return;
    if (result === 'failure') {
      const second = Math.floor(clock.now() / 1_000);
      if (service.sharing.second !== second) service.sharing = { second, failures: 0 };
      service.sharing.failures += 1;
      if (service.sharing.failures > SHARED_FAILURES_PER_SECOND) return;
    }
    void step(() =>
      sharedState.publish(BREAKERS_TOPIC, JSON.stringify({ counted: name, result, epoch, from })),
    );
  }

  function drop(name: string): void {
    end(services.get(name));
    services.delete(name);
  }

  /** Adds and removes services so that they match the configured names. */
  function review(): void {
    const names = configured();
    if (names === null) return;
    for (const name of services.keys()) if (!names.has(name)) drop(name);
    for (const name of names) if (!services.has(name)) add(name);
  }

  function add(name: string): Service {
    if (name === '' || name.length > LONGEST_NAME) {
      throw new Error(`the name of an AI service must have 1 to ${LONGEST_NAME} characters`);
    }
    if (services.size >= MAX_SERVICES) forgetOneOf(services);
    const breaker = createBreaker({
      clock,
      rules: { failures, cooldownMs, trialTimeoutMs },
      async claimTrial(epoch) {
        const claim = () => sharedState.setIfAbsent(trialKey(name, epoch), 'claimed', trialTimeoutMs);
        return (await step(claim)) === false ? 'taken' : 'granted';
      },
      releaseTrial: (epoch) => void step(() => sharedState.delete(trialKey(name, epoch))),
      shareResult: (result, epoch) => share(name, service, result, epoch),
      onChange(cause) {
        service.isUnpublished = true;
        const state = breaker.view().state;
        if (state === 'open') log.warn('an AI service is not called for a while', { service: name, cause });
        else log.info('an AI service is called again', { service: name, cause });
        compareSoon(name, service, 0);
      },
    });
    const sharing = { second: 0, failures: 0 };
    const service: Service = { breaker, refreshing: null, isUnpublished: false, sharing };
    services.set(name, service);
    compareSoon(name, service, 0);
    return service;
  }

  /** Compares a service with the stored state after a delay, in place of a comparison that is already scheduled. */
  function compareSoon(name: string, service: Service, delayMs: number): void {
    service.refreshing?.cancel();
    service.refreshing = null;
    if (isClosed || services.get(name) !== service) return;
    if (delayMs === 0) return void compare(name, service);
    if (configured()?.has(name) === false) return void drop(name);
    service.refreshing = clock.after(delayMs, () => void compare(name, service));
  }

  async function compare(name: string, service: Service): Promise<void> {
    const { breaker } = service;
    await step(async () => {
      const published = await readStoredView(sharedState, name);
      const news = published === null ? 'outdated' : breaker.adopt(published.view);
      if (published?.lastError != null) breaker.noteError(published.lastError);
      const view = breaker.view();
      // Epoch 0: the breaker has never opened, so there is nothing to publish.
      if (news === 'outdated' && view.epoch > 0) {
        const text = writePublishedView({
          name,
          view,
          toldAtMs: clock.now(),
          lastError: breaker.lastError(),
        });
        await sharedState.set(viewKey(name), text, VIEW_TTL_MS);
        await sharedState.publish(BREAKERS_TOPIC, text);
      }
      if (breaker.view() === view) service.isUnpublished = false;
    });
    if (service.isUnpublished || breaker.view().state === 'open') compareSoon(name, service, REFRESH_MS);
  }

  function applyPublished(published: PublishedView): void {
    const isKnown = services.has(published.name) || configured()?.has(published.name) !== false;
    if (!isKnown || (!services.has(published.name) && services.size >= MAX_SERVICES)) return;
    const service = services.get(published.name) ?? add(published.name);
    // Uses the remaining cool-down, not the sender's clock: clocks of machines differ.
    const untilMs = Math.max(0, clock.now() + published.view.untilMs - published.toldAtMs);
    const news = service.breaker.adopt({ ...published.view, untilMs });
    if (published.lastError !== null) service.breaker.noteError(published.lastError);
    if (news === 'outdated') compareSoon(published.name, service, 0);
    if (news === 'adopted') compareSoon(published.name, service, REFRESH_MS);
  }

  const subscription = await sharedState.subscribe(
    BREAKERS_TOPIC,
    (text) => {
      if (isClosed) return;
      const published = readPublishedView(text);
      if (published !== null) return applyPublished(published);
      const counted = readCounted(text);
      if (counted === null || counted.from === parts.processId) return;
      services.get(counted.counted)?.breaker.countElsewhere(counted.result, counted.epoch);
    },
    () => {
      for (const [name, service] of services) compareSoon(name, service, 0);
    },
  );

  return {
    enter: (name) => (services.get(name) ?? add(name)).breaker.enter(),
    states() {
      review();
      return Object.fromEntries([...services].map(([name, { breaker }]) => [name, breaker.state()]));
    },
    failuresInARow: (name) => services.get(name)?.breaker.failuresInARow() ?? 0,
    troubleOf(name) {
      const breaker = services.get(name)?.breaker;
      if (breaker === undefined) return null;
      const { state, untilMs } = breaker.view();
      return { lastError: breaker.lastError(), nextTryAtMs: state === 'open' ? untilMs : null };
    },
    known: (name) => void (services.get(name) ?? add(name)),
    forget: drop,
    async close() {
      isClosed = true;
      for (const service of services.values()) end(service);
      await subscription.close();
    },
  };
}

/** Null if no state was published within a day: then the breaker has not opened. */
export async function readPublishedService(
  { sharedState, clock }: PublishedServiceParts,
  name: string,
): Promise<PublishedService | null> {
  const published = await readStoredView(sharedState, name);
  if (published === null) return null;
  const { lastError, view } = published;
  if (view.state === 'closed') return { state: 'closed', lastError, nextTryAtMs: null };
  const state = clock.now() >= view.untilMs ? 'half-open' : 'open';
  return { state, lastError, nextTryAtMs: view.untilMs };
}

/**
 * Closes a service everywhere because an operator says that it works again. The view has a later epoch, and every
 * process adopts it on the message or within half a second. A process that finds the service failing opens it again.
 */
export async function resetPublishedService(
  { sharedState, clock }: PublishedServiceParts,
  name: string,
): Promise<{ readonly outcome: 'reset' | 'closed-before' }> {
  const published = await readStoredView(sharedState, name);
  if (published === null || published.view.state === 'closed') return { outcome: 'closed-before' };
  const view = {
    state: 'closed',
    epoch: Math.max(clock.now(), published.view.epoch + 1),
    untilMs: 0,
  } as const;
  const text = writePublishedView({ name, view, toldAtMs: clock.now(), lastError: published.lastError });
  await sharedState.set(viewKey(name), text, VIEW_TTL_MS);
  await sharedState.publish(BREAKERS_TOPIC, text);
  return { outcome: 'reset' };
}

/** The published state, also stored for processes that start later, with the time by the sender's clock. */
interface PublishedView {
  readonly name: string;
  readonly view: BreakerView;
  readonly toldAtMs: number;
  /** The last error that the sender knows; other versions may not send it. */
  readonly lastError: LastError | null;
}

const publishedView = z.object({
  name: z.string().min(1).max(LONGEST_NAME),
  state: z.enum(['closed', 'open']),
  epoch: z.int().nonnegative(),
  untilMs: z.int().nonnegative(),
  toldAtMs: z.int().nonnegative(),
  lastError: z
    .object({ reason: z.string().max(LONGEST_REASON), atMs: z.int().nonnegative() })
    .nullish()
    .catch(null),
});

function writePublishedView({ name, view, toldAtMs, lastError }: PublishedView): string {
  return JSON.stringify({ name, ...view, toldAtMs, lastError });
}

async function readStoredView(
  sharedState: Pick<SharedState, 'get'>,
  name: string,
): Promise<PublishedView | null> {
  const stored = await sharedState.get(viewKey(name));
  return stored === null ? null : readPublishedView(stored);
}

/** A result that another process has counted. Earlier versions ignore it. */
const countedResult = z.object({
  counted: z.string().min(1).max(LONGEST_NAME),
  result: z.enum(['success', 'failure']),
  epoch: z.int().nonnegative(),
  from: z.string().max(LONGEST_NAME),
});

function readCounted(text: string): z.output<typeof countedResult> | null {
  return countedResult.safeParse(parsedJson(text)).data ?? null;
}

/** Null if it is not a view: another version may use the same topic and key. */
function readPublishedView(text: string): PublishedView | null {
  const read = publishedView.safeParse(parsedJson(text));
  if (!read.success) return null;
  const { name, toldAtMs, state, epoch, untilMs, lastError } = read.data;
  return { name, toldAtMs, view: { state, epoch, untilMs }, lastError: lastError ?? null };
}

/** Undefined if it is not JSON. */
function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function end(service: Service | undefined): void {
  service?.refreshing?.cancel();
  service?.breaker.close();
}

/** Removes the oldest service that is closed without failures or, if there is none, the oldest of all. This limits memory. */
function forgetOneOf(services: Map<string, Service>): void {
  const isIdle = ({ breaker }: Service) => breaker.state() === 'closed' && breaker.failuresInARow() === 0;
  const idle = [...services].find(([, service]) => isIdle(service));
  const [name, service] = idle ?? [...services][0] ?? [];
  if (name === undefined) return;
  end(service);
  services.delete(name);
}
