import { expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSystemClock } from './system-clock.ts';

test('a timer runs once its delay is over, and not if it was cancelled', async () => {
  const clock = createSystemClock();
  const ran: string[] = [];
  clock.after(1, () => ran.push('cancelled')).cancel();
  const before = clock.now();
  await new Promise<void>((resolve) => {
    clock.after(5, () => {
      ran.push('due');
      resolve();
    });
  });
  expect(ran).toEqual(['due']);
  expect(clock.now() - before).toBeGreaterThanOrEqual(4);
});

test('a delay longer than setTimeout supports does not run at once', async () => {
  const clock = createSystemClock();
  let ran = false;
  const timer = clock.after(2 ** 31 + 5, () => {
    ran = true;
  });
  await clock.sleep(10);
  expect(ran).toBe(false);
  timer.cancel();
});

test('longer delays share a tick: never early, each once, and no cancelled one', async () => {
  const clock = createSystemClock();
  const ran: string[] = [];
  const begun = clock.now();
  const work = () => void ran.push('same');
  clock.after(1_000, work);
  clock.after(1_000, work);
  clock.after(1_000, () => ran.push('cancelled')).cancel();
  await new Promise<void>((resolve) => clock.after(1_010, resolve));
  expect(clock.now() - begun).toBeGreaterThanOrEqual(1_010);
  expect(ran).toEqual(['same', 'same']);
  let later = false;
  await new Promise<void>((resolve) => {
    clock.after(1_000, () => {
      later = true;
      resolve();
    });
  });
  expect(later).toBe(true);
});

test('after a pause of the event loop, what has arrived is read before time-outs run, and they still run', async () => {
  const clock = createSystemClock();
  const ran: string[] = [];
  const echo = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    socket: { data: (socket, bytes) => void socket.write(bytes) },
  });
  const answered = Promise.withResolvers<void>();
  const socket = await Bun.connect({
    hostname: '127.0.0.1',
    port: echo.port,
    socket: {
      data() {
        ran.push('answer');
        answered.resolve();
      },
    },
  });
  const isOver = new Promise<void>((resolve) => {
    clock.after(1_000, () => {
      ran.push('time-out');
      resolve();
    });
  });
  socket.write('?');
  // Not a wait for something: this is the pause.
  Bun.sleepSync(1_300);
  await Promise.all([answered.promise, isOver]);
  expect(ran).toEqual(['answer', 'time-out']);
  socket.terminate();
  echo.stop(true);
});

test('a sleep ends at once when its signal aborts, before or while it sleeps', async () => {
  const clock = createSystemClock();
  const controller = new AbortController();
  const sleeping = clock.sleep(3_600_000, controller.signal);
  controller.abort();
  await sleeping;
  await clock.sleep(3_600_000, controller.signal);
});

test('a pending timer does not keep the process alive', async () => {
  const program = `import { createSystemClock } from ${JSON.stringify(`${import.meta.dir}/system-clock.ts`)};
    createSystemClock().after(3_600_000, () => {}); void createSystemClock().sleep(3_600_000);`;
  const child = Bun.spawn([process.execPath, '-e', program], { stdin: 'ignore', stderr: 'inherit' });
  expect(await child.exited).toBe(0);
});

test('the manual clock runs due timers in order, each at its own time, with their consequences', async () => {
  const clock = createManualClock(1_000);
  const seen: [string, number][] = [];
  const note = (name: string) => seen.push([name, clock.now()]);
  clock.after(300, () => note('late'));
  clock.after(100, () => {
    note('early');
    void Promise.resolve().then(() => clock.after(50, () => note('child')));
  });
  clock.after(400, () => note('cancelled')).cancel();
  void clock.sleep(200).then(() => note('slept'));
  clock.after(501, () => note('beyond'));
  await clock.advance(500);
  expect(seen).toEqual([
    ['early', 1_100],
    ['child', 1_150],
    ['slept', 1_200],
    ['late', 1_300],
  ]);
  expect(clock.now()).toBe(1_500);
  expect(clock.pendingTimers()).toBe(1);
});

test('a turn runs after everything that was ready, promises too', async () => {
  const order: string[] = [];
  const turned = createSystemClock()
    .turn()
    .then(() => order.push('turn'));
  Promise.resolve()
    .then(() => Promise.resolve())
    .then(() => order.push('promises'));
  await turned;
  expect(order).toEqual(['promises', 'turn']);
});
