import { readdirSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { openPostgres } from '../../src/adapters/database/postgres.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { postTransaction } from '../../src/domain/credits/ledger/ledger.ts';
import { mintKey } from '../../src/domain/keys/mint-key.ts';
import type { Database } from '../../src/ports/database.ts';
import { type Forwarder, startForwarder, through } from '../doubles/forwarder.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import {
  chatAnswer,
  chunk,
  done,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamOf,
  usageChunk,
} from '../gateway/scripted-upstream.ts';
import { type FreshDatabase, migratedDatabase } from '../services/fresh-database.ts';
import { givenRedis } from '../services/given.ts';
import { emptyDataFolder, type RunningProcess, startProcess } from './running-system.ts';

/** 5 x 1 + 2 x 0.5 + 5 x 4 credits a million: what the scripted upstream's usage costs by the first prices. */
export const CHARGE_MICRO = 26n;
export const GRANTED_MICRO = 1_000_000_000n;

export interface CreditWorld {
  readonly database: Database;
  readonly toDatabase: Forwarder;
  readonly toRedis: Forwarder;
  readonly dataDir: string;
  readonly rawKey: string;
  readonly companyId: string;
  /** How long the provider takes for its next answers. */
  answerAfter(delayMs: () => number): void;
  /** What the provider answers from now on, in place of its usual answer. */
  readonly upstream: ScriptedUpstream;
  /** The settings of every process of this world. */
  readonly environment: Readonly<Record<string, string>>;
  startGateway(env?: Record<string, string>): Promise<RunningGateway>;
  mint(changes?: { requestsPerMinute?: number }): Promise<string>;
  /** The files of the journal, of any process. */
  journalFiles(): string[];
  close(): Promise<void>;
}

export interface RunningGateway extends RunningProcess {
  readonly url: string;
}

/**
 * A company with credits and a key on a PostgreSQL of its own, a provider, and the way to gateway processes in front of
 * them whose connections to PostgreSQL and Redis a test can break. `given` has the schema of this version.
 */
export async function openCreditWorld(
  given: Promise<FreshDatabase> = migratedDatabase(),
): Promise<CreditWorld> {
  const [fresh, data] = await Promise.all([given, emptyDataFolder()]);
  const { clock, secrets } = { clock: createSystemClock(), secrets: createSystemSecrets() };
  const redisUrl = givenRedis() ?? '';
  const toDatabase = startForwarder(Number(new URL(fresh.url).port || 5432));
  const toRedis = startForwarder(Number(new URL(redisUrl).port || 6379));
  const upstream = startScriptedUpstream();
  let delayMs = () => 0;
  upstream.answer(async ({ body }) => {
    await Bun.sleep(delayMs());
    const isStream = new TextDecoder().decode(body).includes('"stream":true');
    return isStream ? streamOf(chunk('one'), chunk('two'), usageChunk, done) : Response.json(chatAnswer());
  });
  const bounds = { maxWaiting: 1_000, connectTimeoutMs: 60_000, statementTimeoutMs: 100_000 };
  const named = { url: fresh.url, log: createSilentLog(), applicationName: 'credit-world', poolSize: 4 };
  const database = await openPostgres({ ...named, ...bounds });
  const companyId = secrets.newId();
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
  const granted = {
    type: 'ADJUSTMENT',
    contra: 'adjustments',
    sourceKind: 'test',
    sourceId: 'grant',
  } as const;
  await database.transaction((transaction) =>
    postTransaction(transaction, { ...granted, accountId: companyId, amountMicro: GRANTED_MICRO }),
  );
  async function mint(changes: { requestsPerMinute?: number } = {}): Promise<string> {
    const wanted = { companyId, createdBy: null, name: 'test', maxCallsInFlight: 100_000 };
    const rates = { requestsPerMinute: 1_000_000, tokensPerMinute: 10_000_000 };
    const minted = await mintKey({ database, secrets, clock }, { ...wanted, ...rates, ...changes });
    if (minted.outcome !== 'minted') throw new Error(`not minted: ${JSON.stringify(minted)}`);
    return minted.rawKey;
  }
  await mkdir(data.folder, { recursive: true });
  const config = join(data.folder, 'models.json');
  const targets = [{ base_url: upstream.url, model: 'provider-model-x' }];
  writeFileSync(config, JSON.stringify({ aliases: { 'svc/chat-default': { targets } } }));
  const env = {
    DATA_DIR: data.folder,
    MODEL_CONFIG: config,
    DATABASE_URL: through(fresh.url, toDatabase),
    REDIS_URL: through(redisUrl, toRedis),
    IP_REQUESTS_PER_MINUTE: '0',
    DEMO_WORLD: 'off',
    LOG_LEVEL: 'info',
  };
  return {
    ...{ database, toDatabase, toRedis, companyId, mint, upstream, environment: env },
    dataDir: data.folder,
    rawKey: await mint(),
    answerAfter(next) {
      delayMs = next;
    },
    async startGateway(changes = {}) {
      const running = startProcess('gateway.ts', [], { ...env, ...changes });
      const line = await running.line('ready');
      return { ...running, url: /http:\S+/.exec(line)?.[0] ?? '' };
    },
    journalFiles: () => readdirSync(join(data.folder, 'journal')).filter((name) => name.endsWith('.calls')),
    async close() {
      upstream.close();
      await database.close();
      toDatabase.close();
      toRedis.close();
      await fresh.drop();
      await data.remove();
    },
  };
}
