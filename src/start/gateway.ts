/** `npm run start:gateway`: the gateway alone, in one process or, by GATEWAY_PROCESSES, in several. */
import type { Listening } from '../http/listen.ts';
import { announceDemoWorld, configuredAddresses } from './demo-file.ts';
import { ONE_OF_SEVERAL, SAYS } from './gateway-process.ts';
import { startGateway } from './gateway-surface.ts';
import { openModelParts } from './open-models.ts';
import { run } from './run.ts';
import { drainTogether, type ServiceOpening, startService } from './start-service.ts';
import { superviseGateways } from './supervise-gateways.ts';
import { tellOfProcess } from './tell-of-process.ts';

const isOneOfSeveral = process.argv.includes(ONE_OF_SEVERAL);

await run('gateway', (configuration) => startService(configuration, openGateway));

async function openGateway(opening: ServiceOpening): Promise<string> {
  const { configuration } = opening;
  const addresses = configuredAddresses(configuration);
  if (!isOneOfSeveral) await announceDemoWorld(opening, addresses);
  if (configuration.gatewayProcesses > 1 && !isOneOfSeveral) {
    await superviseGateways(opening);
    return `${configuration.gatewayProcesses} gateway processes ${addresses.gateway}/llm/v1`;
  }
  const modelParts = await openModelParts(opening);
  const server = await startGateway(opening, modelParts, { reusePort: isOneOfSeveral });
  tellOfProcess(opening, { services: ['gateway'], breakers: modelParts.breakers });
  drainTogether(opening, [server]);
  if (isOneOfSeveral) obeyParent(server);
  return `gateway ${server.url}/llm/v1`;
}

/** Told to retire, it leaves the port without failing a call and then stops as at any other time. */
function obeyParent(server: Listening): void {
  const stop = () => process.kill(process.pid, 'SIGTERM');
  process.on('message', (said) => {
    if (said === SAYS.areYouThere) process.send?.(SAYS.here);
    if (said === SAYS.retire) server.retire().finally(stop);
  });
  // Without its parent nobody would stop it.
  process.on('disconnect', stop);
  process.send?.(SAYS.ready);
}
