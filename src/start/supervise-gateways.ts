import { startGatewayProcesses } from './gateway-processes.ts';
import { describe } from './start-problem.ts';
import type { Opening } from './start-service.ts';

/** GATEWAY_PROCESSES of them: replaced one by one on SIGUSR2 of this process, stopped with it. */
export async function superviseGateways(opening: Opening): Promise<void> {
  const { configuration, clock, log } = opening;
  const several = await startGatewayProcesses({ count: configuration.gatewayProcesses, clock, log });
  opening.whenClosing('gateway processes', several.stop);
  process.on('SIGUSR2', () => {
    several.replaceAll().catch((error: unknown) => {
      log.error('the gateway processes could not be replaced', { reason: describe(error) });
    });
  });
}
