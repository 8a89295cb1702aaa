import { afterAll, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { openHostFigures } from './host-figures.ts';

const root = mkdtempSync(join(tmpdir(), 'turnpike-host-'));
afterAll(() => rmSync(root, { recursive: true }));

test('A-8 the figures of the host are those of the machine and of the disk of DATA_DIR', async () => {
  const clock = createManualClock();
  const read = openHostFigures({ clock, dataDir: root });
  await clock.advance(2_000);
  const { cpu, loadAverage, memory, disk, uptimeSeconds } = read();
  expect([cpu.count, memory.totalBytes]).toEqual([cpus().length, totalmem()]);
  expect(cpu.usedShare).toBeGreaterThanOrEqual(0);
  expect(cpu.usedShare).toBeLessThanOrEqual(1);
  expect(cpu.busySeconds).toBeGreaterThan(0);
  expect(loadAverage.every((load) => load >= 0)).toBe(true);
  expect(memory.availableBytes).toBeGreaterThan(0);
  expect(memory.availableBytes).toBeLessThanOrEqual(memory.totalBytes);
  expect(disk?.totalBytes ?? 0).toBeGreaterThan(disk?.availableBytes ?? 0);
  expect(uptimeSeconds).toBeGreaterThan(0);
  expect(openHostFigures({ clock, dataDir: join(root, 'gone') })().disk).toBeNull();
});

test('A-8 a container’s memory limit is shown, and none where there is no limit', () => {
  const clock = createManualClock();
  const limit = () => openHostFigures({ clock, dataDir: root, root })().memory;
  expect(limit().limitBytes).toBeNull();
  mkdirSync(join(root, 'sys/fs/cgroup/memory'), { recursive: true });
  mkdirSync(join(root, 'proc'));
  writeFileSync(join(root, 'proc/meminfo'), 'MemTotal:       100 kB\nMemAvailable:    40 kB\n');
  writeFileSync(join(root, 'sys/fs/cgroup/memory.max'), 'max\n');
  writeFileSync(join(root, 'sys/fs/cgroup/memory/memory.limit_in_bytes'), '9223372036854771712\n');
  expect(limit()).toMatchObject({ limitBytes: null, availableBytes: 40_960 });
  writeFileSync(join(root, 'sys/fs/cgroup/memory.max'), '536870912\n');
  expect(limit().limitBytes).toBe(536_870_912);
});
