import { createSystemClock } from '../src/adapters/clock/system-clock.ts';
import { createInProcessState } from '../src/adapters/shared-state/in-process.ts';
import { type Breakers, createBreakers } from '../src/domain/breakers/breakers.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import type { Measurement, Row } from './frame/measurement.ts';
import { median } from './frame/median.ts';

const CALLS = 200_000;
const AGAIN = 7;
/** One look at a clock is most of it: dearer than that, and a breaker would be felt where hundreds of calls are refused. */
const OPEN_BELOW_US = 5;

export const breakers: Measurement = {
  name: 'breakers',
  what: 'what a breaker takes of a call’s processor time: while it is open, and while it is closed',
  async run({ whenEnding }) {
    const clock = createSystemClock();
    const sharedState = createInProcessState({ clock });
    const made = await createBreakers({ sharedState, clock, log: createSilentLog(), cooldownMs: 3_600_000 });
    whenEnding(made.close);
    for (let failure = 0; failure < 5; failure += 1) await entered(made, 'open', 'failure');
    if ((await made.enter('open')).outcome !== 'rejected') throw new Error('the breaker did not open');
    await entered(made, 'closed', 'success');
    const closed = measured('closed: entered and reported', () => {
      const entry = made.enter('closed');
      if (!(entry instanceof Promise) && entry.outcome === 'enter') entry.report('success');
    });
    const open = measured('open: rejected', () => {
      made.enter('open');
    });
    const beside = { reference: 'closed', ratio: open.value / closed.value };
    return [closed, { ...open, beside, aim: { below: OPEN_BELOW_US } }];
  },
};

async function entered(made: Breakers, name: string, result: 'success' | 'failure'): Promise<void> {
  const entry = await made.enter(name);
  if (entry.outcome === 'enter') entry.report(result);
}

function measured(label: string, call: () => void): Row {
  const times = Array.from({ length: AGAIN }, () => {
    // The core's own time: what else runs on the machine must not count.
    const begun = process.cpuUsage();
    for (let n = 0; n < CALLS; n += 1) call();
    const { user, system } = process.cpuUsage(begun);
    return (user + system) / CALLS;
  });
  return { label, value: median(times), unit: 'µs', range: [Math.min(...times), Math.max(...times)] };
}
