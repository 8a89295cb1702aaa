import type { Clock } from '../ports/clock.ts';
import type { ServiceApp } from './service-app.ts';

/** One thing this process depends on. `check` rejects where it is away. */
interface Dependency {
  readonly name: string;
  readonly timeoutMs: number;
  check(): Promise<void>;
}

export type DependencyState =
  | { readonly status: 'up'; readonly latencyMs: number }
  | { readonly status: 'down'; readonly latencyMs: number };

export type DependencyChecks = () => Promise<Readonly<Record<string, DependencyState>>>;

/**
 * Asks all dependencies at once, each within its own time, and remembers the answers for a moment: a load
 * balancer that asks a hundred times a second costs one look each second. A check that hangs is not asked again
 * before it has ended.
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
 * P-1 and P-2, on the backend and the gateway alike: /health is 200 whenever the process runs, and its body says
 * how the dependencies are; /healthz touches nothing.
 */
export function addServiceHealth(app: ServiceApp, dependencies: DependencyChecks): void {
  app.get('/healthz', (context) => context.text('ok'));
  app.get('/health', async (context) => {
    const states = Object.entries(await dependencies());
    const isWell = states.every(([, state]) => state.status === 'up');
    const shown = states.map(([name, state]) => [
      name,
      { status: state.status, latency_ms: state.latencyMs },
    ]);
    return context.json({ status: isWell ? 'ok' : 'degraded', ...Object.fromEntries(shown) });
  });
}

function createLook(dependency: Dependency, clock: Clock, freshMs: number): () => Promise<DependencyState> {
  let last: { state: DependencyState; at: number } | null = null;
  let running: Promise<DependencyState> | null = null;
  let asked: Promise<'up' | 'down'> | null = null;

  function ask(): Promise<'up' | 'down'> {
    return dependency
      .check()
      .then(
        () => 'up' as const,
        () => 'down' as const,
      )
      .finally(() => {
        asked = null;
      });
  }

  async function measure(): Promise<DependencyState> {
    const start = clock.now();
    const late = Promise.withResolvers<'late'>();
    const timer = clock.after(dependency.timeoutMs, () => late.resolve('late'));
    asked ??= ask();
    const first = await Promise.race([asked, late.promise]).finally(() => timer.cancel());
    const state: DependencyState = {
      status: first === 'up' ? 'up' : 'down',
      latencyMs: clock.now() - start,
    };
    last = { state, at: clock.now() };
    return state;
  }

  return async () => {
    if (last !== null && clock.now() - last.at < freshMs) return last.state;
    running ??= measure().finally(() => {
      running = null;
    });
    return await running;
  };
}
