/** `npm run start:gateway`: only the gateway, in one process or, with GATEWAY_PROCESSES, in several. */
import type { Listening } from '../http/listen.ts';
import { announceDemoWorld } from './demo/demo-world.ts';
import { ONE_OF_SEVERAL, PROCESS_MESSAGES } from './processes/child-process.ts';
import { run } from './processes/lifecycle.ts';
import { reportProcess } from './processes/process-heartbeat.ts';
import { drainTogether, type ServiceOpening, startService } from './processes/start-service.ts';
import { superviseGateways } from './processes/supervised-processes.ts';
import { configuredAddresses } from './settings/addresses.ts';
import { openModelParts } from './wiring/open-models.ts';
import { startGateway } from './wiring/start-gateway.ts';

const isOneOfSeveral = process.argv.includes(ONE_OF_SEVERAL);

await run('gateway', (configuration) => startService(configuration, openGateway));

async function openGateway(opening: ServiceOpening): Promise<string | null> {
  const { configuration } = opening;
  const addresses = configuredAddresses(configuration);
  if (!isOneOfSeveral) await announceDemoWorld(opening, addresses);
  if (configuration.gatewayProcesses > 1 && !isOneOfSeveral) {
    const { stop } = await superviseGateways(opening);
    opening.whenClosing('gateway processes', stop);
    return `${configuration.gatewayProcesses} gateway processes ${addresses.gateway}/llm/v1`;
  }
  const modelParts = await openModelParts(opening);
  const server = await startGateway(opening, modelParts, { reusePort: isOneOfSeveral });
  const { breakers, models } = modelParts;
  reportProcess(opening, { services: ['gateway'], breakers, models });
  drainTogether(opening, [server]);
  if (isOneOfSeveral) {
    obeyParent(opening, server);
    return null;
  }
  return `gateway ${server.url}/llm/v1`;
}

/** On `retire`, the process leaves the port without failing a call and then stops. */
function obeyParent({ stop }: ServiceOpening, server: Listening): void {
  process.on('message', (received) => {
    if (received === PROCESS_MESSAGES.ping) process.send?.(PROCESS_MESSAGES.pong);
    if (received === PROCESS_MESSAGES.retire) server.retire().finally(() => stop({ reason: 'replaced' }));
    if (received === PROCESS_MESSAGES.stop) stop({ reason: 'its parent stops' });
  });
  // Without its parent, nothing else would stop this process.
  const endAlone = () => stop({ reason: 'its parent has ended' });
  process.on('disconnect', endAlone);
  // The parent may have ended during the start, before there was a listener for `disconnect`.
  if (process.connected) process.send?.(PROCESS_MESSAGES.ready);
  else endAlone();
}
