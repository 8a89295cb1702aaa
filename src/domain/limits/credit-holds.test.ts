import { describe } from 'bun:test';
import { holdsSimulation } from '../../../test/contracts/credit-holds.contract.ts';
import { describeRedis, useRedis } from '../../../test/setup/use-redis.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';

describe('simulated holds', () => {
  /** Time is the clock's own: there is nothing to move besides. */
  const open = async (clock: Parameters<Parameters<typeof holdsSimulation>[1]>[0]) => ({
    state: createInProcessState({ clock }),
    advance() {},
  });

  holdsSimulation('in one process', open, [1, 2, 3, 4, 5, 6, 7, 8], 1_500);
});

describeRedis('on Redis', () => {
  const redis = useRedis();

  async function open() {
    const state = await redis.open();
    return { state, advance: state.advance };
  }

  holdsSimulation('on Redis', open, [11, 12, 13], 600);
});
