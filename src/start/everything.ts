/** `npm start`: the three services and the payment sandbox in one process. */
import { NAMED_WORKERS } from '../ai-service/health.ts';
import { announceDemoWorld, configuredAddresses } from './demo/demo-world.ts';
import { openCommandsForOthers } from './processes/control-socket.ts';
import { superviseGateways } from './processes/gateway-processes.ts';
import { run } from './processes/lifecycle.ts';
import { reportProcess } from './processes/process-heartbeat.ts';
import {
  drainTogether,
  type ServiceOpening,
  startService,
  vacuumEmbeddedDatabase,
} from './processes/start-service.ts';
import { documentWork, meetingWork, openMatching } from './wiring/ai-workers.ts';
import { openJobs } from './wiring/background-jobs.ts';
import { type ModelParts, openModelParts } from './wiring/open-models.ts';
import { fillDemoCatalog, openPayments } from './wiring/open-payments.ts';
import { startGateway } from './wiring/start-gateway.ts';
import { startAiService, startBackend, startSandbox } from './wiring/surfaces.ts';

await run('everything', (configuration) => startService(configuration, openEverything));

async function openEverything(opening: ServiceOpening): Promise<string> {
  const { configuration } = opening;
  const configured = configuredAddresses(configuration);
  const modelParts = await openModelParts(opening);
  const jobs = await openJobs(opening);
  const sandbox = startSandbox(opening);
  const payments = openPayments(opening, jobs.queue, sandbox?.url ?? null);
  const backend = await startBackend(opening, jobs.queue, payments);
  const work = [
    ...payments.work,
    ...documentWork(opening, modelParts),
    ...meetingWork(opening, modelParts, jobs.queue),
  ];
  const matching = await openMatching(opening, modelParts);
  const board = await jobs.startWorkers(work);
  const ai = startAiService(opening, modelParts, board, matching, jobs.queue);
  const gateway = await openGateway(opening, modelParts);
  const servers = [backend, ai, sandbox, gateway].filter((server) => server !== null);
  reportProcess(opening, {
    services: gateway === null ? ['backend', 'ai-service'] : ['gateway', 'backend', 'ai-service'],
    breakers: modelParts.breakers,
    workers: { board, names: NAMED_WORKERS },
    jobRates: jobs.rates,
  });
  drainTogether(opening, servers);
  if (configuration.postgres === null) {
    openCommandsForOthers(opening, jobs.queue);
    vacuumEmbeddedDatabase(opening);
  }

  const addresses = {
    gateway: gateway?.url ?? configured.gateway,
    backend: backend.url,
    ai: ai.url,
    sandbox: sandbox?.url ?? configured.sandbox,
  };
  await sandbox?.begin(addresses);
  const demoFile = await announceDemoWorld(opening, addresses);
  if (sandbox !== null && demoFile !== null) await fillDemoCatalog(opening, payments);
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
