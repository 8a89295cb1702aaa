/**
 * `npm start`: the three services and the payment sandbox. The gateway runs in its own process, so that load on the
 * backend does not delay model calls; with ONE_PROCESS, everything runs in one process.
 */
import { startVacuum } from '../adapters/database/pglite/vacuum.ts';
import type { Listening } from '../http/listen.ts';
import { run } from './processes/lifecycle.ts';
import { startPlatform } from './processes/platform-process.ts';
import { reportProcess } from './processes/process-heartbeat.ts';
import { drainTogether, type ServiceOpening, startService } from './processes/start-service.ts';
import { superviseGateways } from './processes/supervised-processes.ts';
import { configuredAddresses } from './settings/addresses.ts';
import { type ModelParts, openModelParts } from './wiring/open-models.ts';
import { startGateway } from './wiring/start-gateway.ts';

await run('everything', (configuration) => startService(configuration, openEverything));

interface OpenedGateway {
  readonly url: string;
  /** Empty if the gateway runs in separate processes. */
  readonly servers: readonly Listening[];
  readonly modelParts: ModelParts | null;
  stop(): Promise<void>;
}

async function openEverything(opening: ServiceOpening): Promise<string> {
  const { configuration } = opening;
  if (configuration.postgres === null) opening.whenClosing('vacuum', startVacuum(opening).close);
  const opened = configuration.oneProcess ? await openInOneProcess(opening) : await openInTwo(opening);
  return opened.join(', ');
}

async function openInTwo(opening: ServiceOpening): Promise<readonly string[]> {
  const opensGateway = openGateway(opening);
  const [gateway, platform] = await Promise.all([
    opensGateway,
    startPlatform(
      opening,
      opensGateway.then(({ url }) => url),
    ),
  ]);
  const { modelParts } = gateway;
  const reported = modelParts === null ? {} : { breakers: modelParts.breakers, models: modelParts.models };
  if (gateway.servers.length > 0) reportProcess(opening, { services: ['gateway'], ...reported });
  drainTogether(opening, gateway.servers, [gateway.stop, platform.stop]);
  return [`gateway ${gateway.url}/llm/v1`, ...platform.places];
}

async function openInOneProcess(opening: ServiceOpening): Promise<readonly string[]> {
  const { openPlatform } = await import('./wiring/open-platform.ts');
  const gateway = await openGateway(opening);
  const modelParts = gateway.modelParts ?? (await openModelParts(opening));
  const services = gateway.servers.length > 0 ? (['gateway'] as const) : [];
  const all = [...services, 'backend', 'ai-service'] as const;
  const platform = await openPlatform(opening, modelParts, gateway.url, all);
  drainTogether(opening, [...gateway.servers, ...platform.servers], [gateway.stop]);
  return [`gateway ${gateway.url}/llm/v1`, ...platform.places];
}

/** Runs the gateway in this process, or in several separate ones. */
async function openGateway(opening: ServiceOpening): Promise<OpenedGateway> {
  const { configuration } = opening;
  if (configuration.gatewayProcesses > 1) {
    const { stop } = await superviseGateways(opening);
    return { url: configuredAddresses(configuration).gateway, servers: [], modelParts: null, stop };
  }
  const modelParts = await openModelParts(opening);
  const server = await startGateway(opening, modelParts, { reusePort: false });
  await (await fetch(`${server.url}/healthz`)).text();
  return { url: server.url, servers: [server], modelParts, stop: async () => {} };
}
