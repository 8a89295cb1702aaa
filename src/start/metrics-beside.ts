import type { ListenOptions } from '../http/listen.ts';
import { createMetricsRoute } from '../http/metrics-route.ts';
import type { Metric } from '../http/metrics-text.ts';
import { processMetrics } from '../http/process-metrics.ts';
import { accepted } from './kept-secrets.ts';
import type { ModelParts } from './open-models.ts';
import type { ServiceOpening } from './start-service.ts';

/**
 * `/metrics` beside a surface that knows nothing of it. Every other request is passed on as it is, for the price of
 * looking at how its address ends.
 */
export function withMetrics(
  opening: Pick<ServiceOpening, 'ownSecrets' | 'database' | 'processFigures'>,
  modelParts: Pick<ModelParts, 'breakers'> | null,
  fetch: ListenOptions['fetch'],
  own: () => readonly Metric[] = () => [],
): ListenOptions['fetch'] {
  const { ownSecrets, database, processFigures } = opening;
  // Only the AI service refuses to start without one. Nobody can read figures that no token guards.
  if ((ownSecrets.internalToken ?? null) === null) return fetch;
  const route = createMetricsRoute({
    internalTokens: accepted(ownSecrets, 'internalToken'),
    async collect() {
      const circuitBreakers = modelParts?.breakers.states() ?? null;
      const ofProcess = processMetrics({ figures: processFigures(), pool: database.pool(), circuitBreakers });
      return [...ofProcess, ...own()];
    },
  });
  return (request, connection) => {
    if (!request.url.endsWith('/metrics') || new URL(request.url).pathname !== '/metrics') {
      return fetch(request, connection);
    }
    return route.fetch(request);
  };
}
