import { expect, test } from 'bun:test';
import type { HostFigures } from '../../src/ports/process-figures.ts';
import { memoryFolders } from './private-folder.ts';

const GB = 1024 ** 3;

test.each([
  ['much memory, and a roomy file system in it', {}, {}, ['/dev/shm']],
  ['little memory', { availableBytes: 8 * GB }, {}, []],
  ['a container with little memory', { limitBytes: 4 * GB }, {}, []],
  ['no such file system, or a small one', { disk: 64 * 1024 ** 2 }, {}, []],
  ['TMPDIR', {}, { TMPDIR: '/var/tmp' }, []],
])('a run is in memory or on the disk: %s', (_, given, environment, expected) => {
  const { disk, ...memory } = { disk: 16 * GB, availableBytes: 16 * GB, limitBytes: null, ...given };
  const figures = {
    disk: { totalBytes: 64 * GB, availableBytes: disk },
    memory: { totalBytes: 64 * GB, ...memory },
  } as HostFigures;
  expect(memoryFolders(figures, environment)).toEqual(expected);
});
