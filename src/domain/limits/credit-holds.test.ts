import { afterAll, describe } from 'bun:test';
import { holdsSimulation } from '../../../test/contracts/credit-holds.contract.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { givenRedis } from '../../../test/services/given.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { openRedisState } from '../../adapters/shared-state/redis.ts';

const url = givenRedis();

describe('simulated holds', () => {
  /** Time is the clock's own: there is nothing to move besides. */
  const open = async (clock: Parameters<Parameters<typeof holdsSimulation>[1]>[0]) => ({
    state: createInProcessState({ clock }),
    advance() {},
  });

  holdsSimulation('in one process', open, [1, 2, 3, 4, 5, 6, 7, 8], 1_500);
});

describe.skipIf(url === null)('on Redis', () => {
  const opened: { close(): Promise<void> }[] = [];
  afterAll(async () => {
    for (const state of opened) await state.close();
  });

  async function open() {
    const prefix = `holds-${crypto.randomUUID()}`;
    const state = await openRedisState({ url: url ?? '', log: createSilentLog(), prefix });
    opened.push(state);
    return { state, advance: state.advance };
  }

  holdsSimulation('on Redis', open, [11, 12, 13], 600);
});
