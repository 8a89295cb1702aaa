import type { Listening } from '../http/listen.ts';
import type { ProcessFigures } from '../ports/process-figures.ts';
import type { Configuration } from './configuration.ts';
import { connect, type Parts } from './connect.ts';
import { openProcessFigures } from './process-figures.ts';
import { type Closing, closeAll, closeOnSignal } from './shutdown.ts';

export interface Opening extends Parts {
  /** What is opened later is closed earlier. */
  whenClosing(name: string, close: Closing['close']): void;
}

export interface ServiceOpening extends Opening {
  /** Of the process, whatever services run in it. */
  readonly processFigures: () => ProcessFigures;
}

/**
 * The life of a service's process: opens the parts, lets `open` bring up what runs on them, says `ready` and the
 * line that `open` gives, and closes everything in order when it is told to stop.
 */
export async function startService(
  configuration: Configuration,
  open: (opening: ServiceOpening) => Promise<string>,
): Promise<void> {
  const parts = await connect(configuration);
  const closings = [...parts.closings];
  const whenClosing: Opening['whenClosing'] = (name, close) => void closings.unshift({ name, close });
  try {
    const line = await open({ ...parts, whenClosing, processFigures: openProcessFigures(parts.clock) });
    closeOnSignal(parts, closings, configuration.shutdownTimeoutMs);
    process.stdout.write(`ready: ${line}\n`);
  } catch (error) {
    await closeAll(parts.log, closings);
    throw error;
  }
}

/** All servers of a process drain side by side, under one deadline. */
export function drainTogether(opening: Opening, servers: readonly Listening[]): void {
  const { shutdownTimeoutMs } = opening.configuration;
  opening.whenClosing('servers', async () => {
    await Promise.all(servers.map((server) => server.drain(shutdownTimeoutMs)));
  });
}
