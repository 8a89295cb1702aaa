/** `npm start`: the three services and the payment sandbox in one process. */
import { openCommandsForOthers } from './commands-for-others.ts';
import { announceDemoWorld, configuredAddresses } from './demo-file.ts';
import { keepEmbeddedDatabaseTidy } from './embedded-upkeep.ts';
import { startGatewayProcesses } from './gateway-processes.ts';
import { openJobs } from './jobs.ts';
import { run } from './run.ts';
import { drainTogether, type Opening, startService } from './start-service.ts';
import { startAiService, startBackend, startGateway, startSandbox } from './surfaces.ts';

await run('everything', (configuration) => startService(configuration, openEverything));

async function openEverything(opening: Opening): Promise<string> {
  const { configuration } = opening;
  const configured = configuredAddresses(configuration);
  const jobs = await openJobs(opening);
  const backend = startBackend(opening);
  const ai = startAiService(opening, await jobs.startWorkers());
  const sandbox = configuration.paymentSandbox ? startSandbox(opening) : null;
  const gateway = await openGateway(opening);
  const servers = [backend, ai, sandbox, gateway].filter((server) => server !== null);
  drainTogether(opening, servers);
  if (configuration.postgres === null) {
    openCommandsForOthers(opening, jobs.queue);
    keepEmbeddedDatabaseTidy(opening);
  }

  const addresses = {
    gateway: gateway?.url ?? configured.gateway,
    backend: backend.url,
    ai: ai.url,
    sandbox: sandbox?.url ?? configured.sandbox,
  };
  const demoFile = await announceDemoWorld(opening, addresses);
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
async function openGateway(opening: Opening) {
  const { gatewayProcesses } = opening.configuration;
  if (gatewayProcesses === 1) return await startGateway(opening, { reusePort: false });
  const several = await startGatewayProcesses(gatewayProcesses, opening.clock, opening.log);
  opening.whenClosing('gateway processes', several.stop);
  return null;
}
