/** Below the range from which the kernel takes ports for outgoing connections, so that none of those has it later. */
const FIRST = 15_000;
const COUNT = 15_000;
const MOST_TRIES = 1_000;

/** A port that nothing listens on now, for a server that begins on it later, or comes back to it. */
export function freePort(): number {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const port = FIRST + Math.floor(Math.random() * COUNT);
    try {
      Bun.listen({ hostname: '127.0.0.1', port, socket: { data() {} } }).stop(true);
      return port;
    } catch {
      // Another process has it.
    }
  }
  throw new Error(`no free port from ${FIRST} to ${FIRST + COUNT - 1}`);
}
