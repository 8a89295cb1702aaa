import { afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { until } from '../../../test/doubles/until.ts';
import { createSystemClock } from '../../adapters/clock/system-clock.ts';
import { PROCESS_MESSAGES } from './child-process.ts';
import { createHostMetrics } from './host-metrics.ts';
import { type SupervisedProcesses, superviseProcesses } from './supervised-processes.ts';

/** Does what a gateway process does with its parent, and breaks as the file beside it says. */
const PROGRAM = `
  const order = await Bun.file(import.meta.dir + '/order').text().catch(() => '');
  if (order === 'fail') process.exit(7);
  process.on('message', (said) => {
    if (said === '${PROCESS_MESSAGES.ping}') process.send('${PROCESS_MESSAGES.pong}');
    if (said === '${PROCESS_MESSAGES.retire}' || said === '${PROCESS_MESSAGES.stop}') process.exit(0);
  });
  setInterval(() => {}, 1000);
  process.send('${PROCESS_MESSAGES.ready}');
`;

describe('the parent of several processes', () => {
  let folder: string;
  let parent: SupervisedProcesses;
  let entries: ReturnType<typeof createRecordingLog>['entries'];

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'turnpike-parent-'));
    const program = join(folder, 'child.ts');
    writeFileSync(program, PROGRAM);
    const recording = createRecordingLog();
    entries = recording.entries;
    const own = { what: 'gateway', count: 2, program, words: [], onMessage: undefined, silentSeconds: 4 };
    const clock = createSystemClock();
    const metrics = createHostMetrics({ clock, parent: null });
    const options = { ...own, clock, log: recording.log, metrics };
    parent = await superviseProcesses(options);
  });
  afterEach(async () => {
    await parent.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const order = (text: string) => writeFileSync(join(folder, 'order'), text);
  const said = (text: string) => entries.some(({ message }) => message.includes(text));

  test('replaces each of them, and waits until the old one has ended; a second request runs after it', async () => {
    const before = parent.pids();
    expect(await Promise.all([parent.replaceAll(), parent.replaceAll()])).toEqual(['replaced', 'replaced']);
    const after = parent.pids();
    expect(after).toHaveLength(2);
    expect(after.filter((pid) => before.includes(pid))).toEqual([]);
  });

  test('a new one that does not start leaves the old ones running', async () => {
    const before = parent.pids();
    order('fail');
    expect(await parent.replaceAll()).toBe('kept');
    expect(parent.pids()).toEqual(before);
    expect(said('a new gateway process did not start')).toBe(true);
  });

  test('a process that keeps crashing is restarted after pauses that double, and the other continues', async () => {
    const [dying = 0, other = 0] = parent.pids();
    order('fail');
    process.kill(dying, 'SIGKILL');
    const pauses = () => entries.map(({ context }) => context.afterMs).filter((ms) => ms !== undefined);
    await until(() => pauses().length >= 3);
    expect(pauses().slice(0, 3)).toEqual([500, 1_000, 2_000]);
    expect(parent.pids()).toContain(other);
  });

  test('where the machine gives no further process, the parent continues and tries again', async () => {
    const spawn = spyOn(Bun, 'spawn');
    const fail = () => {
      throw new Error('EMFILE: too many open files');
    };
    const failures = () => entries.filter(({ message }) => message.endsWith('could not be started')).length;
    try {
      spawn.mockImplementationOnce(fail);
      expect(await parent.replaceAll()).toBe('kept');
      const [dying = 0] = parent.pids();
      spawn.mockImplementationOnce(fail);
      process.kill(dying, 'SIGKILL');
      await until(() => failures() === 2);
    } finally {
      spawn.mockRestore();
    }
    await until(() => parent.pids().length === 2);
    expect(await parent.replaceAll()).toBe('replaced');
  });

  test('a process that hangs is killed and restarted', async () => {
    const [hanging = 0] = parent.pids();
    process.kill(hanging, 'SIGSTOP');
    await until(() => said('answers nothing and is killed'));
    await until(() => parent.pids().length === 2 && !parent.pids().includes(hanging));
  });
});
