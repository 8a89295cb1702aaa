import { write } from 'node:fs';

/** Where lines go. It never blocks and never throws. */
export interface LineOutput {
  readonly isTerminal: boolean;
  /** False: it has the text but wants no more until `done`. `done` may run before this returns. */
  write(text: string, done: (failed: boolean) => void): boolean;
}

/** How long a terminal that was set to non-blocking is left alone when it is full. */
const RETRY_MS = 20;

/**
 * Bun writes to a pipe, a socket or a file without blocking and says when a pipe is full (tried: 64 KiB into a
 * pipe that nobody reads, the event loop went on). To a terminal it blocks: one stopped with Ctrl-S would stop
 * the whole process. There the write goes to the thread pool instead, one at a time.
 */
export function createStandardOutput(): LineOutput {
  return process.stdout.isTTY ? terminalOutput(process.stdout.fd) : streamOutput(process.stdout);
}

function streamOutput(stream: NodeJS.WriteStream): LineOutput {
  // A reader that has gone is no reason to end: every write tells its own failure, this one is for nobody.
  stream.on('error', () => {});
  return {
    isTerminal: false,
    write(text, done) {
      try {
        return stream.write(text, (error) => done(error !== null && error !== undefined));
      } catch {
        done(true);
        return true;
      }
    },
  };
}

function terminalOutput(descriptor: number): LineOutput {
  function writeAll(bytes: Uint8Array, done: (failed: boolean) => void): void {
    write(descriptor, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') setTimeout(() => writeAll(bytes, done), RETRY_MS);
      else if (error) done(true);
      else if (written < bytes.length) writeAll(bytes.subarray(written), done);
      else done(false);
    });
  }
  return {
    isTerminal: true,
    write(text, done) {
      writeAll(Buffer.from(text), done);
      return false;
    },
  };
}
