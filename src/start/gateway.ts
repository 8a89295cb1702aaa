/** `npm run start:gateway`: the gateway alone, in one process or, by GATEWAY_PROCESSES, in several. */
import { announceDemoWorld, configuredAddresses } from './demo-file.ts';
import { ONE_OF_SEVERAL, startGatewayProcesses } from './gateway-processes.ts';
import { startGateway } from './gateway-surface.ts';
import { openModelParts } from './open-models.ts';
import { run } from './run.ts';
import { drainTogether, type Opening, startService } from './start-service.ts';

const isOneOfSeveral = process.argv.includes(ONE_OF_SEVERAL);

await run('gateway', (configuration) => startService(configuration, openGateway));

async function openGateway(opening: Opening): Promise<string> {
  const { configuration } = opening;
  const addresses = configuredAddresses(configuration);
  if (!isOneOfSeveral) await announceDemoWorld(opening, addresses);
  if (configuration.gatewayProcesses > 1 && !isOneOfSeveral) {
    const several = await startGatewayProcesses(configuration.gatewayProcesses, opening.clock, opening.log);
    opening.whenClosing('gateway processes', several.stop);
    return `${configuration.gatewayProcesses} gateway processes ${addresses.gateway}/llm/v1`;
  }
  const server = await startGateway(opening, await openModelParts(opening), { reusePort: isOneOfSeveral });
  drainTogether(opening, [server]);
  if (isOneOfSeveral) {
    process.send?.('ready');
    // Without its parent nobody would stop it.
    process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  }
  return `gateway ${server.url}/llm/v1`;
}
