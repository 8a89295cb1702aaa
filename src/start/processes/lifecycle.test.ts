import { describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { createStop } from './lifecycle.ts';

function stopUnderTest(close: () => Promise<void> = () => new Promise(() => {})) {
  const clock = createManualClock();
  const { log, entries } = createRecordingLog();
  const exits: number[] = [];
  let closed = 0;
  const closings = [
    {
      name: 'calls',
      close() {
        closed += 1;
        return close();
      },
    },
  ];
  const stop = createStop({ clock, log }, closings, 30_000, (code) => void exits.push(code));
  return { clock, entries, exits, stop, closed: () => closed };
}

describe('a stop', () => {
  test('signals within two seconds count as one: everything is closed once and may end', async () => {
    const ended = Promise.withResolvers<void>();
    const { clock, entries, exits, stop, closed } = stopUnderTest(() => ended.promise);
    stop.onSignal('SIGTERM');
    stop.onSignal('SIGTERM');
    await clock.advance(1_999);
    stop.onSignal('SIGINT');
    expect([exits, closed()]).toEqual([[], 1]);
    ended.resolve();
    await clock.advance(0);
    expect(exits).toEqual([0]);
    expect(entries.map(({ message }) => message)).toEqual([
      'stopping',
      'a repeated signal counts as one',
      'a repeated signal counts as one',
    ]);
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('%s after two seconds forces the end with %d', async (signal, code) => {
    const { clock, exits, stop } = stopUnderTest();
    stop.onSignal('SIGTERM');
    await clock.advance(2_000);
    stop.onSignal(signal);
    expect(exits).toEqual([code]);
  });

  test('a request by message never forces the end, however late it arrives', async () => {
    const { clock, exits, stop, closed } = stopUnderTest();
    stop.onSignal('SIGTERM');
    await clock.advance(10_000);
    stop.begin({ reason: 'its parent stops' });
    expect([exits, closed()]).toEqual([[], 1]);
  });

  test('exits with 1 where something cannot be closed, or takes longer than the deadlines', async () => {
    const failing = stopUnderTest(() => Promise.reject(new Error('full')));
    failing.stop.onSignal('SIGTERM');
    await failing.clock.advance(0);
    expect(failing.exits).toEqual([1]);
    const hanging = stopUnderTest();
    hanging.stop.onSignal('SIGTERM');
    await hanging.clock.advance(45_000);
    expect(hanging.exits).toEqual([1]);
  });
});

test('a process whose standard error is a closed pipe runs on', async () => {
  const program = `import { run } from ${JSON.stringify(`${import.meta.dir}/lifecycle.ts`)};
    await run('command-line', async () => {
      await Bun.stdin.text();
      await new Promise((resolve) => process.stderr.write('ready', () => setImmediate(resolve)));
      process.stdout.write('runs');
    });`;
  const child = Bun.spawn([process.execPath, '-e', program], { stdin: 'pipe', stderr: 'pipe' });
  await child.stderr.cancel();
  await child.stdin.end();
  expect([await new Response(child.stdout).text(), await child.exited]).toEqual(['runs', 0]);
});
