import { createGateway } from '../gateway/server.ts';
import type { Listening } from '../http/listen.ts';
import { withGatewayDocs } from './docs-beside.ts';
import { withMetrics } from './metrics-beside.ts';
import { openGatewayParts } from './open-gateway.ts';
import type { ModelParts } from './open-models.ts';
import { checksOf, openServer } from './open-server.ts';
import type { Opening } from './start-service.ts';

/** Apart from the other surfaces: a process that is a gateway alone loads nothing of theirs. */
export async function startGateway(
  opening: Opening,
  modelParts: ModelParts,
  { reusePort }: { reusePort: boolean },
): Promise<Listening> {
  const { ports, maxBodyBytes } = opening.configuration;
  const dependencies = checksOf(opening);
  const parts = await openGatewayParts(opening, modelParts);
  const app = createGateway({ ...parts, maxBodyBytes, dependencies });
  const fetch = withGatewayDocs(withMetrics(opening, modelParts, app.fetch));
  return openServer(opening, 'gateway', 'GATEWAY_PORT', ports.gateway, fetch, { reusePort });
}
