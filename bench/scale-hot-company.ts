import { migrate } from '../src/adapters/database/migrate.ts';
import { openPostgres } from '../src/adapters/database/postgres.ts';
import { createSystemSecrets } from '../src/adapters/secrets/system-secrets.ts';
import { addCompany } from '../src/domain/accounts/company.ts';
import { chargeCalls } from '../src/domain/calls/settlement/charge-calls.ts';
import { finishedCall } from '../test/doubles/finished-calls.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import { simulateHotRow } from './frame/hot-row.ts';
import type { BenchContext, Measurement, Row } from './frame/measurement.ts';

const GROUP = 250;
const ROUNDS = 15;
const PROCESSES = [1, 4, 16, 64, 256];
const PER_SECOND = [1_000, 5_000, 15_000];

/**
 * What happens when one company's calls come from ever more gateway processes: each commits its own group, and all of
 * them wait for one row. No machine here has 256 processes, so the two costs of a commit are measured and the waiting is
 * simulated.
 */
export const scaleHotCompany: Measurement = {
  name: 'scale-hot-company',
  what: 'one company’s calls from 1 to 256 gateway processes: the wait for its balance, simulated from two measured costs',
  async run(context) {
    const { commitMs, callMs } = await measureCosts(context);
    const rows: Row[] = [
      { label: 'measured: a commit', value: commitMs, unit: 'ms' },
      { label: 'measured: each further call in it', value: callMs * 1_000, unit: 'µs' },
      { label: 'so at most', value: 1_000 / callMs, unit: '/s' },
    ];
    for (const perSecond of PER_SECOND) {
      for (const processes of PROCESSES) {
        const { p99Ms, meanGroup, isKeepingUp } = simulateHotRow({ perSecond, processes, commitMs, callMs });
        const group = `groups of ${meanGroup.toFixed(1)}${isKeepingUp ? '' : ', FALLING BEHIND'}`;
        const label = `${perSecond} calls/s from ${processes} processes, p99 wait, ${group}`;
        rows.push({ label, value: p99Ms, unit: 'ms' });
      }
    }
    return rows;
  },
};

async function measureCosts(context: BenchContext): Promise<{ commitMs: number; callMs: number }> {
  const database = await openPostgres({
    url: await context.emptyDatabase(),
    log: createSilentLog(),
    applicationName: 'bench',
    ...{ poolSize: 2, maxWaiting: 100, connectTimeoutMs: 5_000, statementTimeoutMs: 10_000 },
  });
  context.whenEnding(database.close);
  await migrate(database);
  const { newId } = createSystemSecrets();
  const companyId = newId();
  await addCompany(database, { id: companyId, name: 'Hot', billingMode: 'POSTPAID' });
  const once = async (count: number) => {
    const calls = Array.from({ length: count }, () => finishedCall(companyId));
    const begun = performance.now();
    await chargeCalls(database, calls);
    return performance.now() - begun;
  };
  await once(GROUP);
  const [lone, many]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    context.signal.throwIfAborted();
    lone.push(await once(1));
    many.push(await once(GROUP));
  }
  // The least of them: whatever else the machine does only adds, and the simulation would multiply it.
  const [commitMs, groupMs] = [Math.min(...lone), Math.min(...many)];
  return { commitMs, callMs: Math.max(0.001, (groupMs - commitMs) / (GROUP - 1)) };
}
