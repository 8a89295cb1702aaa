import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { migrate } from '../../src/adapters/database/migrate.ts';
import { openPostgres } from '../../src/adapters/database/postgres.ts';
import { openJobQueue } from '../../src/adapters/job-queue/pg-boss.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { postTransaction } from '../../src/domain/credits/ledger/ledger.ts';
import { DOCUMENT_QUEUE } from '../../src/domain/jobs/job-changes.ts';
import { MAIL_QUEUE } from '../../src/domain/mail/outbox.ts';
import { MEETING_QUEUE } from '../../src/domain/meetings/meeting.ts';
import { CV_QUEUE } from '../../src/domain/talents/talent-changes.ts';
import { startMailServer } from '../adapters/mail/mail-server.ts';
import { startForwarder, through } from '../doubles/forwarder.ts';
import { createSilentLog } from '../doubles/silent-log.ts';
import { until } from '../doubles/until.ts';
import { addTestCompany } from '../matching/matching-world.ts';
import { migratedDatabase } from '../services/fresh-database.ts';
import { givenRedis } from '../services/given.ts';
import { emptyDataFolder, type RunningProcess, startProcess } from './running-system.ts';
import { startWorkerProvider } from './worker-provider.ts';

export const INTERNAL_TOKEN = 'an-internal-token-of-some-length-for-tests';
const GRANTED_MICRO = 1_000_000_000n;
const PROCESS = 'turnpike ai-service';
const ALIASES = ['chat-default', 'extract-default', 'embed-default'];

export interface RunningAiService extends RunningProcess {
  readonly url: string;
}

/** Servers that are used directly: there is no proxy between them and the process, and nothing can be delayed. */
interface WorldPlaces {
  readonly url: string;
  readonly redisUrl: string;
  drop(): Promise<void>;
}

async function started(running: RunningProcess): Promise<RunningAiService> {
  const line = await running.line('ready');
  return { ...running, url: /http:\S+/.exec(line)?.[0] ?? '' };
}

export type WorkerWorld = Awaited<ReturnType<typeof openWorkerWorld>>;

/**
 * A company with credits on a PostgreSQL of its own, a provider, a mail server, and the AI service as a process that a
 * test holds in one of its steps and kills there: every way out of it leads over something that the test can stop.
 */
export async function openWorkerWorld(places: WorldPlaces | null = null) {
  const [fresh, data] = await Promise.all([places ?? migratedDatabase(), emptyDataFolder()]);
  const { clock, secrets, log } = {
    clock: createSystemClock(),
    secrets: createSystemSecrets(),
    log: createSilentLog(),
  };
  const redisUrl = places?.redisUrl ?? givenRedis() ?? '';
  const toDatabase = startForwarder(Number(new URL(fresh.url).port || 5432));
  const toRedis = startForwarder(Number(new URL(redisUrl).port || 6379));
  const provider = startWorkerProvider();
  const letterbox = { isOpen: Promise.resolve(), offered: [] as string[] };
  const mailServer = await startMailServer({
    async onMessage(eml) {
      letterbox.offered.push(messageIdOf(eml));
      await letterbox.isOpen;
      return null;
    },
  });
  const bounds = { maxWaiting: 1_000, connectTimeoutMs: 60_000, statementTimeoutMs: 120_000 };
  const named = { url: fresh.url, log, applicationName: 'worker-world', poolSize: 6 };
  const database = await openPostgres({ ...named, ...bounds });
  await migrate(database);
  const companyId = await addTestCompany(database);
  await database.transaction((transaction) =>
    postTransaction(transaction, {
      ...{ type: 'ADJUSTMENT', contra: 'adjustments', sourceKind: 'test', sourceId: 'grant' },
      ...{ accountId: companyId, amountMicro: GRANTED_MICRO },
    }),
  );
  const jobQueue = await openJobQueue({ database, log });
  for (const queue of [CV_QUEUE, DOCUMENT_QUEUE, MEETING_QUEUE, MAIL_QUEUE]) await jobQueue.define(queue);
  mkdirSync(data.folder, { recursive: true });
  const config = join(data.folder, 'models.json');
  const targets = [{ base_url: provider.url, model: 'provider-model-x' }];
  const aliases = Object.fromEntries(ALIASES.map((name) => [`svc/${name}`, { targets }]));
  writeFileSync(config, JSON.stringify({ aliases }));
  const env = {
    ...{ DATA_DIR: data.folder, MODEL_CONFIG: config, INTERNAL_TOKEN, DEMO_WORLD: 'off', LOG_LEVEL: 'info' },
    DATABASE_URL: places === null ? through(fresh.url, toDatabase) : fresh.url,
    REDIS_URL: places === null ? through(redisUrl, toRedis) : redisUrl,
    // A held server is waited for: nothing else than the test ends a step.
    ...{ REDIS_TIMEOUT_MS: '60000', DATABASE_STATEMENT_TIMEOUT_MS: '60000' },
    SMTP_URL: `smtp://127.0.0.1:${mailServer.port}`,
  };
  const sessions = `from pg_stat_activity where datname = current_database() and application_name = '${PROCESS}'`;
  const parts = { database, clock, secrets, log, jobQueue };

  return {
    ...{ ...parts, parts, companyId, provider, letterbox, toDatabase, toRedis },
    /** What the mail server has accepted, by Message-ID. */
    accepted: () => mailServer.received.map(({ eml }) => messageIdOf(eml)),
    async start(changes: Record<string, string> = {}): Promise<RunningAiService> {
      return await started(startProcess('ai-service.ts', [], { ...env, ...changes }));
    },
    /** With a clock of its own that is so far ahead of all others. */
    async startAhead(aheadMs: number): Promise<RunningAiService> {
      const MOVED_CLOCK_FILE = join(data.folder, 'clock');
      writeFileSync(MOVED_CLOCK_FILE, String(aheadMs));
      const program = '../../faults/programs/service-with-moved-clock.ts';
      return await started(startProcess(program, ['ai-service'], { ...env, MOVED_CLOCK_FILE }));
    },
    /** Holds what a statement locks until it is released. */
    async lock(statement: string, values: readonly (string | bigint)[] = []) {
      const [locked, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const holding = database.transaction(async (transaction) => {
        await transaction.query(statement, values);
        locked.resolve();
        await end.promise;
      });
      await Promise.race([locked.promise, holding]);
      return {
        async release() {
          end.resolve();
          await holding;
        },
      };
    },
    /** Statements of the process that wait for a lock. */
    async waiting(): Promise<number> {
      const rows = await database.query(`select 1 ${sessions} and wait_event_type = 'Lock'`);
      return rows.length;
    },
    /** As when its machine dies: what it was at in the database is undone, too. */
    async kill(running: RunningProcess): Promise<void> {
      running.signal('SIGKILL');
      await running.exited;
      await until(async () => {
        await database.query(`select pg_terminate_backend(pid) ${sessions}`);
        return (await database.query(`select 1 ${sessions}`)).length === 0;
      });
    },
    /** What a dead process had is free: its heartbeats and leases are long past, and no retry waits. */
    async letLeasesLapse(): Promise<void> {
      await database.query(
        `update pgboss.job set heartbeat_on = heartbeat_on - interval '1 hour', retry_delay = 0, retry_backoff = false
         where state = 'active'`,
      );
      for (const table of ['mail_outbox', 'match_changes', 'match_pairs']) {
        await database.query(
          `update ${table} set claimed_until = now() - interval '1 second' where claimed_until is not null`,
        );
      }
    },
    async balance(): Promise<bigint> {
      const [account] = await database.query<{ balance: bigint }>(
        'select balance_micro as balance from credit_accounts where id = $1',
        [companyId],
      );
      return account?.balance ?? 0n;
    },
    spent: async () => {
      const rows = await database.query<{ micro: bigint }>(
        `select coalesce(sum(charge_micro), 0)::bigint as micro from calls where company_id = $1`,
        [companyId],
      );
      return rows[0]?.micro ?? 0n;
    },
    grantedMicro: GRANTED_MICRO,
    async close(): Promise<void> {
      await jobQueue.stop(0);
      await mailServer.close();
      provider.close();
      await database.close();
      toDatabase.close();
      toRedis.close();
      await fresh.drop();
      await data.remove();
    },
  };
}

function messageIdOf(eml: string): string {
  return /^Message-ID: <(.+)>/im.exec(eml)?.[1] ?? '';
}
