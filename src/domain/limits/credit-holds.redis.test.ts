import { afterAll, describe } from 'bun:test';
import { holdsSimulation } from '../../../test/contracts/credit-holds.contract.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { givenRedis } from '../../../test/services/given.ts';
import { openRedisState } from '../../adapters/shared-state/redis.ts';

const url = givenRedis();

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
