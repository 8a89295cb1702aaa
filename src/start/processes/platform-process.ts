import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { serveChannel } from '../../adapters/request-channel/unix-socket.ts';
import { serveState } from '../../adapters/shared-state/remote.ts';
import type { Configuration } from '../settings/configuration.ts';
import { type AttachedParts, DATABASE_SOCKET, STATE_SOCKET } from '../wiring/connect.ts';
import { endWithParent, PROCESS_MESSAGES } from './child-process.ts';
import type { ServiceOpening } from './start-service.ts';
import { superviseProcesses } from './supervised-processes.ts';

/**
 * `npm start` runs two processes: this one has the gateway and owns the embedded parts, the other has the backend, the
 * AI service and the background jobs. Load in the other process, or its end, delays no model call. If the other process
 * dies it is restarted; if this one dies, the other ends too.
 */
const PROGRAM = fileURLToPath(new URL('../platform.ts', import.meta.url));

const orderForm = z.strictObject({
  gatewayUrl: z.string(),
  attached: z.strictObject({ database: z.string().nullable(), state: z.string().nullable() }),
});
type PlatformOrder = z.output<typeof orderForm>;
const placesForm = z.strictObject({ places: z.array(z.string()) });

interface PlatformProcess {
  /** The addresses of its parts, for the `ready` line. */
  readonly places: readonly string[];
  stop(): Promise<void>;
}

/** The sockets through which the other process connects to the parts that are embedded in this one. */
function socketsOf({ postgres, redis, dataDir }: Configuration): AttachedParts {
  return {
    database: postgres === null ? join(dataDir, DATABASE_SOCKET) : null,
    state: redis === null ? join(dataDir, STATE_SOCKET) : null,
  };
}

/** The program is loaded while the gateway opens; it starts once the gateway's address is known. */
export async function startPlatform(
  opening: ServiceOpening,
  gatewayUrl: Promise<string>,
): Promise<PlatformProcess> {
  const { configuration, clock, log, sharedState, metrics } = opening;
  const attached = socketsOf(configuration);
  // If the gateway cannot be opened, this process reports why and ends, and the other ends with it.
  gatewayUrl.catch(() => {});
  if (attached.state !== null) {
    const server = serveChannel(attached.state, serveState(sharedState));
    opening.whenClosing('shared state for the backend', server.close);
  }
  let places: readonly string[] = [];
  const supervised = await superviseProcesses({
    ...{ what: 'backend', count: 1, clock, log, metrics, program: PROGRAM, words: [] },
    onMessage(received, send) {
      const begin = (url: string) => send({ gatewayUrl: url, attached });
      if (received === PROCESS_MESSAGES.loaded) gatewayUrl.then(begin, () => {});
      const parsed = placesForm.safeParse(received);
      if (parsed.success) places = parsed.data.places;
    },
  });
  process.on('exit', supervised.kill);
  return { places, stop: supervised.stop };
}

/** Called in the other process: waits for the order of its parent. */
export async function platformOrder(): Promise<PlatformOrder> {
  endWithParent();
  const { promise, resolve } = Promise.withResolvers<PlatformOrder>();
  process.once('message', (received) => resolve(orderForm.parse(received)));
  process.send?.(PROCESS_MESSAGES.loaded);
  return await promise;
}

export function reportPlatform({ stop }: ServiceOpening, places: readonly string[]): void {
  process.on('message', (received) => {
    if (received === PROCESS_MESSAGES.ping) process.send?.(PROCESS_MESSAGES.pong);
    if (received === PROCESS_MESSAGES.stop) stop({ reason: 'its parent stops' });
  });
  process.send?.({ places });
  process.send?.(PROCESS_MESSAGES.ready);
}
