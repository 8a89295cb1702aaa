import type { ListenOptions } from '../http/listen.ts';
import { createMetricsRoute } from '../http/metrics-route.ts';
import { processMetrics } from '../http/process-metrics.ts';
import type { Parts } from './connect.ts';
import type { ModelParts } from './open-models.ts';
import { openProcessFigures } from './process-figures.ts';

/**
 * `/metrics` beside a surface that knows nothing of it. Every other request is passed on as it is, for the price of
 * looking at how its address ends.
 */
export function withMetrics(
  parts: Parts,
  modelParts: Pick<ModelParts, 'breakers'> | null,
  fetch: ListenOptions['fetch'],
): ListenOptions['fetch'] {
  const { internalToken } = parts.ownSecrets;
  // Only the AI service refuses to start without one. Nobody can read figures that no token guards.
  if (internalToken === null || internalToken === undefined) return fetch;
  const figures = openProcessFigures(parts.clock);
  const route = createMetricsRoute({
    internalToken,
    async collect() {
      const circuitBreakers = modelParts?.breakers.states() ?? null;
      return processMetrics({ figures: figures(), pool: parts.database.pool(), circuitBreakers });
    },
  });
  return (request, connection) => {
    if (!request.url.endsWith('/metrics') || new URL(request.url).pathname !== '/metrics') {
      return fetch(request, connection);
    }
    return route.fetch(request);
  };
}
