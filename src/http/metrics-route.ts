import { Hono } from 'hono';
import { internalAccess } from './internal-access.ts';
import { METRICS_CONTENT_TYPE, type Metric, metricsText } from './metrics-text.ts';

export interface MetricsRouteParts {
  readonly internalTokens: readonly string[];
  readonly collect: () => Promise<readonly Metric[]>;
}

/** `GET /metrics` for Prometheus, which sends the internal token as its bearer token. */
export function createMetricsRoute({ internalTokens, collect }: MetricsRouteParts): Hono {
  const app = new Hono();
  app.use('/metrics', internalAccess(internalTokens));
  app.get('/metrics', async () => {
    return new Response(metricsText(await collect()), { headers: { 'content-type': METRICS_CONTENT_TYPE } });
  });
  return app;
}
