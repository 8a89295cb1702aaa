import { SQL } from 'bun';
import { createSystemClock } from '../src/adapters/clock/system-clock.ts';
import { migrate } from '../src/adapters/database/migrate.ts';
import { openPostgres } from '../src/adapters/database/postgres.ts';
import { addUpAddressRefusals } from '../src/domain/calls/log/address-refusals.ts';
import { addUpMargins } from '../src/domain/calls/usage/margin-sums.ts';
import { auditBooks } from '../src/domain/reconciliation/audit.ts';
import { addLedgerDigests } from '../src/domain/reconciliation/proofs/ledger-digests.ts';
import { isLedgerSound } from '../src/domain/reconciliation/proofs/ledger-proof.ts';
import type { Database, SqlValue, Statements } from '../src/ports/database.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import type { Measurement, Row } from './frame/measurement.ts';
import { medianOf } from './frame/median.ts';
import { makeWorld, sizeOf } from './world-generator.ts';
import { type Question, questionsTo } from './world-questions.ts';

/** `WORLD_CALLS=10000000 npm run bench -- world` is the year that docs/scaling.md tells of. */
const CALLS = Number(process.env.WORLD_CALLS ?? 100_000);
/** Past five PostgreSQL may keep one plan for all values, which is the one to be afraid of. */
const WARM_UP = 7;
const ROUNDS = 9;
/** What a page may wait for its statements. */
const AIM_MS = 300;
const MOST_AUDIT_MS = 60_000;
/** A table of fewer rows is read whole at any time. */
const MANY_ROWS = 5_000;

/** Every statement of the surfaces on tables that grow, with a year of data. */
export const world: Measurement = {
  name: 'world',
  what: `what the surfaces ask, in a year of ${CALLS.toLocaleString('en')} calls on PostgreSQL; WORLD_CALLS sets how many`,
  withinMs: 120_000 + CALLS / 3,
  async run(context) {
    const url = await context.emptyDatabase('bulk');
    const log = createSilentLog();
    const bounds = { poolSize: 2, maxWaiting: 100, connectTimeoutMs: 5_000, statementTimeoutMs: 60_000 };
    const database = await openPostgres({ ...bounds, url, log, applicationName: 'bench' });
    context.whenEnding(database.close);
    await migrate(database);
    const sql = new SQL({ url, max: 4, idleTimeout: 0 });
    context.whenEnding(() => sql.close({ timeout: 0 }));
    const begun = performance.now();
    const made = await makeWorld(sql, sizeOf(CALLS), context.signal);
    const rows: Row[] = [{ label: 'to make this world', unit: 'ms', value: performance.now() - begun }];
    await addUpMargins({ database, clock: createSystemClock() }, context.signal);
    await addUpAddressRefusals(database, Date.now(), context.signal);
    for (const question of questionsTo(made)) {
      context.signal.throwIfAborted();
      rows.push(await answered(database, question));
    }
    const signal = context.signal;
    const digestsBegun = performance.now();
    await addLedgerDigests({ database, clock: createSystemClock(), log }, { signal });
    rows.push({
      label: 'digests of the ledger, by their job',
      unit: 'ms',
      value: performance.now() - digestsBegun,
    });
    rows.push(...(await audited(database, signal)));
    const sealsBegun = performance.now();
    const sealed = (await isLedgerSound(database, 'all')) ? 'right' : 'WRONG';
    const label = `all seals computed again, without digests (${sealed})`;
    rows.push({ label, unit: 'ms', value: performance.now() - sealsBegun });
    return rows;
  },
};

/** All that `turnpike audit` proves of these books, as the command does it. */
async function audited(database: Database, signal: AbortSignal): Promise<Row[]> {
  const rows: Row[] = [];
  const begun = performance.now();
  let faults = 0;
  let checkBegun = begun;
  for await (const { check, faults: found } of auditBooks(database)) {
    signal.throwIfAborted();
    faults += found.length;
    // The first check of several that are shown by one pass has the time of that pass.
    rows.push({ label: `audit: ${check.holds}`, unit: 'ms', value: performance.now() - checkBegun });
    checkBegun = performance.now();
  }
  const label = `the audit, which found ${faults} differences`;
  rows.push({ label, unit: 'ms', value: performance.now() - begun, aim: { below: MOST_AUDIT_MS } });
  return rows;
}

export async function answered(database: Database, { label, isStream, ask }: Question): Promise<Row> {
  for (let round = 0; round < WARM_UP; round += 1) await ask(database);
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const begun = performance.now();
    await ask(database);
    times.push(performance.now() - begun);
  }
  const whole = await tablesReadWhole(database, ask);
  const note = whole.length === 0 ? '' : ` (reads all of ${whole.join(', ')})`;
  const row: Row = { label: `${label}${note}`, unit: 'ms', ...medianOf(times) };
  return isStream === true ? row : { ...row, aim: { below: AIM_MS } };
}

/** The large tables that a question's statements read from end to end, by the plans they have. */
async function tablesReadWhole(database: Database, ask: Question['ask']): Promise<readonly string[]> {
  const found = new Set<string>();
  const explainedOn = <On extends Statements>(on: On): On => ({
    ...on,
    async query<R>(text: string, values: readonly SqlValue[] = []) {
      const [row] = await on.query<{ 'QUERY PLAN': readonly { Plan: Plan }[] }>(
        `explain (analyze, timing off, format json) ${text}`,
        values,
      );
      for (const { Plan } of row?.['QUERY PLAN'] ?? []) collect(Plan, found);
      return await on.query<R>(text, values);
    },
  });
  const explaining: Database = {
    ...explainedOn(database),
    transaction: (work, options) =>
      database.transaction((transaction) => work(explainedOn(transaction)), options),
  };
  await ask(explaining);
  return [...found];
}

interface Plan {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Actual Rows'?: number;
  readonly 'Rows Removed by Filter'?: number;
  readonly Plans?: readonly Plan[];
}

function collect(plan: Plan, found: Set<string>): void {
  const passed = (plan['Actual Rows'] ?? 0) + (plan['Rows Removed by Filter'] ?? 0);
  const isWhole = plan['Node Type'] === 'Seq Scan' || (plan['Rows Removed by Filter'] ?? 0) > MANY_ROWS;
  if (isWhole && passed > MANY_ROWS) found.add(plan['Relation Name'] ?? plan['Node Type']);
  for (const part of plan.Plans ?? []) collect(part, found);
}
