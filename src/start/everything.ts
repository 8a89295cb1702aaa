/** `npm start`: the three services and the payment sandbox in one process. */
import { startVacuum } from '../adapters/database/pglite/pglite.ts';
import { ensureDemoCatalog } from './demo/demo-catalog.ts';
import { announceDemoWorld } from './demo/demo-world.ts';
import { openCommandsForOthers } from './processes/control-socket.ts';
import { superviseGateways } from './processes/gateway-processes.ts';
import { run } from './processes/lifecycle.ts';
import { reportProcess } from './processes/process-heartbeat.ts';
import { drainTogether, type ServiceOpening, startService } from './processes/start-service.ts';
import { configuredAddresses } from './settings/addresses.ts';
import { openJobs } from './wiring/background-jobs.ts';
import { type ModelParts, openModelParts } from './wiring/open-models.ts';
import { openPayments, startSandbox } from './wiring/open-payments.ts';
import { startAiService } from './wiring/start-ai-service.ts';
import { startBackend } from './wiring/start-backend.ts';
import { startGateway } from './wiring/start-gateway.ts';

await run('everything', (configuration) => startService(configuration, openEverything));

async function openEverything(opening: ServiceOpening): Promise<string> {
  const { configuration } = opening;
  const configured = configuredAddresses(configuration);
  const modelParts = await openModelParts(opening);
  const jobs = await openJobs(opening);
  const sandbox = startSandbox(opening);
  const payments = openPayments(opening, jobs.queue, sandbox?.url ?? null);
  const backend = await startBackend(opening, jobs.queue, payments);
  const { server: ai, workers } = await startAiService(opening, modelParts, jobs, payments);
  const gateway = await openGateway(opening, modelParts);
  const servers = [backend, ai, sandbox, gateway].filter((server) => server !== null);
  reportProcess(opening, {
    services: gateway === null ? ['backend', 'ai-service'] : ['gateway', 'backend', 'ai-service'],
    breakers: modelParts.breakers,
    workers,
    jobRates: jobs.rates,
  });
  drainTogether(opening, servers);
  if (configuration.postgres === null) {
    openCommandsForOthers(opening, jobs.queue);
    opening.whenClosing('vacuum', startVacuum(opening).close);
  }

  const addresses = {
    gateway: gateway?.url ?? configured.gateway,
    backend: backend.url,
    ai: ai.url,
    sandbox: sandbox?.url ?? configured.sandbox,
  };
  await sandbox?.begin(addresses);
  const demoFile = await announceDemoWorld(opening, addresses);
  if (sandbox !== null && demoFile !== null) {
    await ensureDemoCatalog({ ...opening, provider: payments.provider });
  }
  await Promise.all(servers.map(async ({ url }) => await (await fetch(`${url}/healthz`)).text()));
  return [
    `gateway ${addresses.gateway}/llm/v1`,
    `backend and console ${addresses.backend}`,
    `AI service ${addresses.ai}`,
    ...(sandbox === null ? [] : [`payment sandbox ${addresses.sandbox}`]),
    ...(demoFile === null ? [] : [`demo world in ${demoFile}`]),
  ].join(', ');
}

/** In this process, or several of its own. */
async function openGateway(opening: ServiceOpening, modelParts: ModelParts) {
  const { gatewayProcesses } = opening.configuration;
  if (gatewayProcesses === 1) return await startGateway(opening, modelParts, { reusePort: false });
  await superviseGateways(opening);
  return null;
}
