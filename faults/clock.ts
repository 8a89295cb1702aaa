import { writeFileSync } from 'node:fs';
import { until } from '../test/doubles/until.ts';
import { chatAnswer } from '../test/gateway/scripted-upstream.ts';
import { holds, onlyStatuses } from './frame/expect.ts';
import type { FaultCase } from './frame/fault-case.ts';
import { callMany, keepCalling, refusedOf, slowestMs, tally } from './frame/load.ts';

const HOUR_MS = 60 * 60_000;
const STEPS_MS = [HOUR_MS, -HOUR_MS, 0, 24 * HOUR_MS, 0];
const STEP_LASTS_MS = 1_200;
const RPM = 10;
/** Far above what a provider on a busy machine takes, and far below what the hanging one does. */
const TIME_OUT_MS = 4_000;
const HANGS_MS = 20_000;

export const clockFaults: readonly FaultCase[] = [
  {
    name: 'clock',
    what: 'a gateway’s clock is set an hour ahead, an hour back, right, a day ahead and right again, under load',
    isQuick: true,
    async run(lab) {
      const file = `${lab.freshPath()}-clock`;
      const setAhead = (ms: number) => writeFileSync(file, String(ms));
      setAhead(0);
      const gateway = await lab.start('../../faults/programs/service-with-moved-clock.ts', {
        MOVED_CLOCK_FILE: file,
        UPSTREAM_FIRST_BYTE_TIMEOUT_MS: String(TIME_OUT_MS),
      });
      const url = /http:\S+/.exec(await gateway.line('ready'))?.[0] ?? '';
      const limited = await lab.world.mint({ requestsPerMinute: RPM });
      const load = keepCalling(url, lab.world.rawKey, 10);
      await until(() => load.seen.length > 20);
      let passed = 0;
      for (const ms of STEPS_MS) {
        setAhead(ms);
        await Bun.sleep(STEP_LASTS_MS);
        const tried = await callMany(RPM, url, limited);
        passed += tried.filter(({ isWhole }) => isWhole).length;
        lab.seen.push(...tried);
      }
      const calls = await load.stop();
      lab.seen.push(...calls);

      // A time-out that was set before the clock went back ends when it would have.
      lab.world.upstream.answer(async () => {
        await Bun.sleep(HANGS_MS);
        return Response.json(chatAnswer());
      });
      const hanging = callMany(2, url, lab.world.rawKey);
      await Bun.sleep(300);
      setAhead(-HOUR_MS);
      const ended = await hanging;
      lab.seen.push(...ended);
      return {
        kept: `${tally(calls)} while it was set ${STEPS_MS.length} times; a limit of ${RPM} a minute let ${passed} pass`,
        refused: `${refusedOf(calls)}; a provider that hangs was given up after ${slowestMs(ended)} ms of ${TIME_OUT_MS}`,
        ...{ recoveryMs: null, lost: '' },
        problems: [
          ...onlyStatuses(calls, [200]),
          ...onlyStatuses(ended, [503]),
          ...holds(passed <= 2 * RPM, `${passed} passed a limit of ${RPM} a minute`),
          ...holds(
            slowestMs(ended) < HANGS_MS,
            `a time-out of ${TIME_OUT_MS} ms took ${slowestMs(ended)} ms`,
          ),
        ],
      };
    },
  },
];
