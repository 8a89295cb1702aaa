import { expect, test } from 'bun:test';
import { createSystemClock } from './system-clock.ts';

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
