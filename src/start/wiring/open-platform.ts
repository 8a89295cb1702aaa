import type { ServiceName } from '../../domain/processes/service-processes.ts';
import type { Listening } from '../../http/listen.ts';
import { ensureDemoCatalog } from '../demo/demo-catalog.ts';
import { announceDemoWorld } from '../demo/demo-world.ts';
import { openCommandsForOthers } from '../processes/control-socket.ts';
import { reportProcess } from '../processes/process-heartbeat.ts';
import type { ServiceOpening } from '../processes/start-service.ts';
import { configuredAddresses } from '../settings/addresses.ts';
import { openJobs } from './background-jobs.ts';
import type { ModelParts } from './open-models.ts';
import { openPayments, startSandbox } from './open-payments.ts';
import { startAiService } from './start-ai-service.ts';
import { startBackend } from './start-backend.ts';

interface Platform {
  readonly servers: readonly Listening[];
  /** The addresses of its parts, for the `ready` line. */
  readonly places: readonly string[];
}

/**
 * The backend, the AI service with all background jobs, and the payment sandbox, next to a gateway that is already
 * listening.
 */
export async function openPlatform(
  opening: ServiceOpening,
  modelParts: ModelParts,
  gatewayUrl: string,
  services: readonly ServiceName[],
): Promise<Platform> {
  const { configuration } = opening;
  // Before the jobs, so that it is closed after them: those that run when the process stops may still use it.
  const sandbox = startSandbox(opening);
  const jobs = await openJobs(opening);
  const payments = openPayments(opening, jobs.queue, sandbox?.url ?? null);
  const backend = await startBackend(opening, jobs.queue, payments);
  const { server: ai, workers } = await startAiService(opening, modelParts, jobs, payments);
  const { breakers, models } = modelParts;
  reportProcess(opening, { services, breakers, models, workers, jobRates: jobs.rates });
  if (configuration.postgres === null) openCommandsForOthers(opening, jobs.queue);
  const addresses = {
    gateway: gatewayUrl,
    backend: backend.url,
    ai: ai.url,
    sandbox: sandbox?.url ?? configuredAddresses(configuration).sandbox,
  };
  await sandbox?.begin(addresses);
  const demoFile = await announceDemoWorld(opening, addresses);
  if (sandbox !== null && demoFile !== null) {
    await ensureDemoCatalog({ ...opening, provider: payments.provider });
  }
  const servers = [backend, ai];
  await Promise.all([...servers, ...(sandbox === null ? [] : [sandbox])].map(answered));
  return {
    servers,
    places: [
      `backend and console ${backend.url}`,
      `AI service ${ai.url}`,
      ...(sandbox === null ? [] : [`payment sandbox ${sandbox.url}`]),
      ...(demoFile === null ? [] : [`demo world in ${demoFile}`]),
    ],
  };
}

/** Resolves once the server has answered. */
async function answered({ url }: Listening): Promise<void> {
  await (await fetch(`${url}/healthz`)).text();
}
