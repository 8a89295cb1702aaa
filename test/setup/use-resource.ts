import { afterAll, beforeAll } from 'bun:test';
import { TEST_MS } from '../doubles/patience.ts';

interface Resource {
  close(): unknown;
}

/**
 * What `open` returns, from before the first test of this scope until after its last one. The result stands for it:
 * its properties can be read as soon as the hook has run.
 */
export function useResource<Opened extends Resource>(open: () => Promise<Opened> | Opened): Opened {
  let opened: Opened | undefined;
  // A bare `bun test` has a limit of five seconds, which a whole system on a busy machine may need.
  beforeAll(async () => {
    opened = await open();
  }, TEST_MS);
  afterAll(async () => {
    await opened?.close();
  });
  return new Proxy({} as Opened, {
    get(_, name) {
      if (opened === undefined) throw new Error('it is opened by a hook before the first test');
      return Reflect.get(opened, name);
    },
  });
}
