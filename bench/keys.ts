import { createSystemClock } from '../src/adapters/clock/system-clock.ts';
import { migrate } from '../src/adapters/database/migrate.ts';
import { openPostgres } from '../src/adapters/database/postgres.ts';
import { createSystemSecrets } from '../src/adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../src/adapters/shared-state/in-process.ts';
import { addCompany } from '../src/domain/accounts/company.ts';
import { createKeyDirectory } from '../src/domain/keys/key-directory.ts';
import { mintKey } from '../src/domain/keys/mint-key.ts';
import type { Database } from '../src/ports/database.ts';
import { createSilentLog } from '../test/doubles/silent-log.ts';
import type { Measurement, Row } from './frame/measurement.ts';

const KEYS_STORED = [10, 1_000, 100_000, 1_000_000];
/** Those that are asked for; a million would only measure how to make them. */
const ASKED = 500;
const WARM_ROUNDS = 400;
const INSERT_MS = 120_000;

export const keys: Measurement = {
  name: 'keys',
  what: 'the gateway’s look at a key, by the number of keys in PostgreSQL: not known yet, and known',
  async run(context) {
    const log = createSilentLog();
    const database = await openPostgres({
      url: await context.emptyDatabase(),
      log,
      applicationName: 'bench',
      poolSize: 4,
      maxWaiting: 1_000,
      connectTimeoutMs: 5_000,
      statementTimeoutMs: 10_000,
    });
    context.whenEnding(database.close);
    await migrate(database);
    const clock = createSystemClock();
    const secrets = createSystemSecrets();
    const companyId = secrets.newId();
    await addCompany(database, { id: companyId, name: 'Bench', billingMode: 'PREPAID' });
    const asked: string[] = [];
    for (let n = 0; n < ASKED; n += 1) {
      const minted = await mintKey(
        { database, secrets, clock },
        { companyId, name: 'asked', createdBy: null },
      );
      if (minted.outcome === 'minted') asked.push(minted.rawKey);
    }
    const rows: Row[] = [];
    for (const stored of KEYS_STORED) {
      await fillUp(database, companyId, stored);
      const sharedState = createInProcessState({ clock, log });
      const directory = await createKeyDirectory({ database, sharedState, clock, secrets, log });
      const cold = await microsEach(asked, async (key) => void (await directory.find(key)), 1);
      const warm = await microsEach(asked, (key) => void directory.find(key), WARM_ROUNDS);
      await directory.close();
      rows.push(row(`${stored.toLocaleString('en')} keys, not known yet`, cold, rows[0]));
      rows.push(row(`${stored.toLocaleString('en')} keys, known`, warm, rows[1]));
    }
    return rows;
  },
};

/** Rows that are not looked up, up to that number. */
async function fillUp(database: Database, companyId: string, stored: number): Promise<void> {
  await database.transaction(
    async (transaction) => {
      await transaction.query(
        `insert into api_keys (id, company_id, name, sha256, prefix, last_four, scopes, requests_per_minute,
           tokens_per_minute)
         select gen_random_uuid(), $1, 'filler', sha256(n::text::bytea), 'tpk_0000', '0000', '{inference:chat}', 1, 1
         from generate_series((select count(*) from api_keys where name = 'filler') + 1, $2::bigint) as n`,
        [companyId, stored],
      );
    },
    { timeoutMs: INSERT_MS },
  );
  await database.script('analyze api_keys');
}

async function microsEach(
  asked: readonly string[],
  find: (key: string) => void | Promise<void>,
  rounds: number,
): Promise<number> {
  const begun = performance.now();
  for (let round = 0; round < rounds; round += 1) {
    for (const key of asked) {
      const finding = find(key);
      if (finding !== undefined) await finding;
    }
  }
  return ((performance.now() - begun) * 1_000) / (asked.length * rounds);
}

function row(label: string, value: number, first: Row | undefined): Row {
  const beside = first === undefined ? {} : { beside: { reference: '10 keys', ratio: value / first.value } };
  return { label, value, unit: 'µs', ...beside };
}
