import { migrate } from '../src/adapters/database/migrate.ts';
import { openPostgres } from '../src/adapters/database/postgres.ts';
import { createSystemSecrets } from '../src/adapters/secrets/system-secrets.ts';
import { addCompany } from '../src/domain/accounts/company.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import type { BenchContext, Measurement, Row } from './frame/measurement.ts';
import { median, medianOf } from './frame/median.ts';
import { whenReady } from './frame/processes.ts';
import type { Load } from './programs/charge-load.ts';

const PROGRAM = '../../bench/programs/charge-load.ts';
const COMPANIES = 1_000;
const PROCESSES = [1, 4];
const ROUNDS = 3;
const ROUND_MS = 1_000;
const WARM_UP_MS = 600;

const WAYS: readonly { readonly way: Load['way']; readonly label: string }[] = [
  { way: 'calls', label: 'the calls’ rows alone, by the raw client, 250 a statement' },
  { way: 'calls and ledger', label: 'and the ledger’s rows, by the raw client, 250 a statement' },
  { way: 'groups', label: 'charged, 250 a statement' },
  { way: 'one by one', label: 'charged, each in a transaction of its own, 10 at once' },
];

export const charges: Measurement = {
  name: 'charges',
  what: 'calls charged a second on PostgreSQL with fsync (aim: 0.7 of what inserting their rows alone takes)',
  async run(context) {
    const url = await context.emptyDatabase('durable');
    const companies = await makeCompanies(context, url);
    const started = Array.from({ length: Math.max(...PROCESSES) }, () =>
      context.startProcess(PROGRAM, { DATABASE_URL: url }),
    );
    await Promise.all(started.map(whenReady));
    const programs = started.map(({ output }) => /^ready: (\S+)/m.exec(output())?.[1] ?? '');
    const rows: Row[] = [];
    for (const used of [companies.slice(0, 1), companies]) {
      for (const count of PROCESSES) {
        const who = `${used.length === 1 ? 'one company' : `${used.length} companies`}, ${count} process${count === 1 ? '' : 'es'}`;
        rows.push(...(await compare(context, who, programs.slice(0, count), used)));
      }
    }
    return rows;
  },
};

async function makeCompanies(context: BenchContext, url: string): Promise<string[]> {
  const database = await openPostgres({
    url,
    log: createSilentLog(),
    applicationName: 'bench',
    poolSize: 4,
    maxWaiting: 10_000,
    connectTimeoutMs: 5_000,
    statementTimeoutMs: 10_000,
  });
  context.whenEnding(database.close);
  await migrate(database);
  const { newId } = createSystemSecrets();
  const ids = Array.from({ length: COMPANIES }, newId);
  await Promise.all(ids.map((id) => addCompany(database, { id, name: 'Bench', billingMode: 'PREPAID' })));
  await database.script('create table ledger_rows (like credit_transactions including all)');
  await database.script('analyze');
  return ids;
}

/** The ways take turns, each round begun by another, so that whatever else the machine does meets all of them. */
async function compare(
  { signal }: BenchContext,
  who: string,
  programs: readonly string[],
  companies: readonly string[],
): Promise<Row[]> {
  const rates = new Map<Load['way'], number[]>(WAYS.map(({ way }) => [way, []]));
  const measure = (way: Load['way'], forMs: number) => load(programs, { way, companies, forMs }, signal);
  for (const { way } of WAYS) await measure(way, WARM_UP_MS);
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let turn = 0; turn < WAYS.length; turn += 1) {
      const way = WAYS[(round + turn) % WAYS.length]?.way ?? 'calls';
      rates.get(way)?.push(await measure(way, ROUND_MS));
    }
  }
  const reference = rates.get('calls') ?? [];
  return WAYS.map(({ way, label }): Row => {
    const own = rates.get(way) ?? [];
    const row: Row = { label: `${who}: ${label}`, unit: '/s', ...medianOf(own) };
    if (way === 'calls') return row;
    const ratio = median(own.map((rate, round) => rate / (reference[round] ?? Number.NaN)));
    return { ...row, beside: { reference: 'the calls’ rows alone', ratio } };
  });
}

async function load(programs: readonly string[], wanted: Load, signal: AbortSignal): Promise<number> {
  const answers = programs.map(async (url) => {
    const answer = await fetch(url, { method: 'POST', body: JSON.stringify(wanted), signal });
    if (!answer.ok)
      throw new Error(`a program answered ${answer.status}: ${(await answer.text()).slice(0, 300)}`);
    return (await answer.json()) as number;
  });
  return (await Promise.all(answers)).reduce((sum, rate) => sum + rate, 0);
}
