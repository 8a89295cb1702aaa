import type { DependencyChecks } from './dependency-checks.ts';
import type { ServiceApp } from './service-app.ts';

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
