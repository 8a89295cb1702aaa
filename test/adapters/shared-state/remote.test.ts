import { expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectChannel, serveChannel } from '../../../src/adapters/request-channel/unix-socket.ts';
import { createInProcessState } from '../../../src/adapters/shared-state/in-process.ts';
import { openRemoteState, serveState } from '../../../src/adapters/shared-state/remote.ts';
import { sharedStateContract } from '../../contracts/shared-state.contract.ts';
import { levelsContract } from '../../contracts/shared-state-levels.contract.ts';
import { windowsContract } from '../../contracts/shared-state-windows.contract.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';
import { stoppedClock } from '../../doubles/stopped-clock.ts';
import { until } from '../../doubles/until.ts';

async function openBoth() {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-state-'));
  const path = join(folder, 'state.sock');
  const own = createInProcessState({ clock: stoppedClock, log: createSilentLog() });
  const server = serveChannel(path, serveState(own));
  let isClosed = false;
  const onClosed = () => {
    isClosed = true;
  };
  const state = await openRemoteState({
    connect: (onEvent) => connectChannel({ path, onEvent, onClosed }),
    log: createSilentLog(),
  });
  return {
    ...{ own, state, server, advance: own.advance, isClosed: () => isClosed },
    async close() {
      await state.close();
      server.close();
      await own.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

sharedStateContract('of another process', openBoth);
windowsContract('of another process', openBoth);
levelsContract('of another process', openBoth);

test('both sides share one state and receive each other’s messages', async () => {
  const { own, state, close } = await openBoth();
  const heard: string[] = [];
  const ignore = () => {};
  await own.subscribe('topic', (message) => void heard.push(`own ${message}`), ignore);
  await state.subscribe('topic', (message) => void heard.push(`other ${message}`), ignore);
  await own.set('key', 'value', 1_000);
  expect(await state.get('key')).toBe('value');
  await state.publish('topic', 'a');
  await own.publish('topic', 'b');
  await until(() => heard.length === 4);
  expect(heard.toSorted()).toEqual(['other a', 'other b', 'own a', 'own b']);
  await close();
});

test('when the owner ends, calls are refused as unavailable and the loss is reported', async () => {
  const { state, server, close, isClosed } = await openBoth();
  server.close();
  await until(isClosed);
  expect(await state.get('key').catch((error) => [error.name, error.reason])).toEqual([
    'SharedStateFailure',
    'unavailable',
  ]);
  await close();
});
