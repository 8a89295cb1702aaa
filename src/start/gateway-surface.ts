import type { CallBook } from '../domain/calls/settle-call.ts';
import type { CallMeters } from '../gateway/call-meters.ts';
import { createGateway } from '../gateway/server.ts';
import type { Listening } from '../http/listen.ts';
import type { Metric } from '../http/metrics-text.ts';
import { withGatewayDocs } from './docs-beside.ts';
import { withMetrics } from './metrics-beside.ts';
import { openGatewayParts } from './open-gateway.ts';
import type { ModelParts } from './open-models.ts';
import { checksOf, openServer } from './open-server.ts';
import type { ServiceOpening } from './start-service.ts';

function ownMetrics(
  { meters, calls }: { readonly meters: CallMeters; readonly calls: CallBook },
  { limits }: Pick<ModelParts, 'limits'>,
): readonly Metric[] {
  const gauge = (name: string, help: string, value: number): Metric => {
    return { name, help, type: 'gauge', samples: [{ value }] };
  };
  return [
    ...meters.metrics(),
    gauge(
      'turnpike_limits_alone',
      '1 while Redis is away and this process limits by itself.',
      limits.isAlone() ? 1 : 0,
    ),
    gauge(
      'turnpike_call_room',
      '0 while new calls are refused because the journal is full.',
      calls.hasRoom() ? 1 : 0,
    ),
    {
      name: 'turnpike_call_notes_dropped_total',
      help: 'Rows of refusals and reads that could not be written.',
      type: 'counter',
      samples: [{ value: calls.droppedCount() }],
    },
  ];
}

/** Apart from the other surfaces: a process that is a gateway alone loads nothing of theirs. */
export async function startGateway(
  opening: ServiceOpening,
  modelParts: ModelParts,
  { reusePort }: { reusePort: boolean },
): Promise<Listening> {
  const { ports, maxBodyBytes } = opening.configuration;
  const dependencies = checksOf(opening);
  const parts = await openGatewayParts(opening, modelParts);
  const app = createGateway({ ...parts, maxBodyBytes, dependencies });
  const fetch = withGatewayDocs(
    withMetrics(opening, modelParts, app.fetch, () => ownMetrics(parts, modelParts)),
  );
  return openServer(opening, 'gateway', 'GATEWAY_PORT', ports.gateway, fetch, { reusePort });
}
