import type { Clock } from '../ports/clock.ts';
import type { ServiceApp } from './service-app.ts';

/** A dependency of this process. `check` and `find` reject if it is unavailable. */
type Dependency = { readonly name: string; readonly timeoutMs: number } & (
  | { check(): Promise<void> }
  | { find(): Promise<DependencyFindings> }
);

/** The state of a dependency that responds. */
interface DependencyFindings {
  /** False if an operator has to act. */
  readonly isWell: boolean;
  readonly figures: Readonly<Record<string, number>>;
}

export interface DependencyState {
  readonly status: 'up' | 'degraded' | 'down';
  readonly latencyMs: number;
  readonly figures?: Readonly<Record<string, number>>;
}

export type DependencyChecks = () => Promise<Readonly<Record<string, DependencyState>>>;

/**
 * Checks all dependencies at once, each with its own time-out, and caches the results briefly: a load balancer that asks a
 * hundred times a second causes one check per second. A check that hangs is not repeated before it has ended.
 */
export function createDependencyChecks(
  dependencies: readonly Dependency[],
  clock: Clock,
  freshMs = 1_000,
): DependencyChecks {
  const looks = dependencies.map((dependency) => ({
    name: dependency.name,
    look: createLook(dependency, clock, freshMs),
  }));
  return async () => {
    const states = await Promise.all(looks.map(async ({ name, look }) => [name, await look()] as const));
    return Object.fromEntries(states);
  };
}

/**
 * P-1 and P-2, for the backend and the gateway: /health is 200 whenever the process runs, and its body reports the state of
 * the dependencies; /healthz checks nothing.
 */
export function addServiceHealth(app: ServiceApp, dependencies: DependencyChecks): void {
  app.get('/healthz', (context) => context.text('ok'));
  app.get('/health', async (context) => {
    const states = Object.entries(await dependencies());
    const isWell = states.every(([, state]) => state.status === 'up');
    const shown = states.map(([name, state]) => [
      name,
      { status: state.status, latency_ms: state.latencyMs, ...state.figures },
    ]);
    return context.json({ status: isWell ? 'ok' : 'degraded', ...Object.fromEntries(shown) });
  });
}

type Answer = Omit<DependencyState, 'latencyMs'>;

const UP: Answer = { status: 'up' };
const DOWN: Answer = { status: 'down' };

function answerOf({ isWell, figures }: DependencyFindings): Answer {
  return { status: isWell ? 'up' : 'degraded', figures };
}

function createLook(dependency: Dependency, clock: Clock, freshMs: number): () => Promise<DependencyState> {
  let last: { state: DependencyState; at: number } | null = null;
  let running: Promise<DependencyState> | null = null;
  let checking: Promise<Answer> | null = null;

  function ask(): Promise<Answer> {
    const asking =
      'find' in dependency ? dependency.find().then(answerOf) : dependency.check().then(() => UP);
    return asking
      .catch(() => DOWN)
      .finally(() => {
        checking = null;
      });
  }

  async function measure(): Promise<DependencyState> {
    const start = clock.now();
    const late = Promise.withResolvers<Answer>();
    const timer = clock.after(dependency.timeoutMs, () => late.resolve(DOWN));
    checking ??= ask();
    const first = await Promise.race([checking, late.promise]).finally(() => timer.cancel());
    // A clock that was set back must not make the latency negative.
    const state = { ...first, latencyMs: Math.max(0, clock.now() - start) };
    last = { state, at: clock.now() };
    return state;
  }

  return async () => {
    const ageMs = last === null ? freshMs : clock.now() - last.at;
    // Below zero, the clock was set back, and the result would be used until the clock catches up.
    if (last !== null && ageMs >= 0 && ageMs < freshMs) return last.state;
    running ??= measure().finally(() => {
      running = null;
    });
    return await running;
  };
}
