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
import { createSilentLog } from '../doubles/silent-log.ts';
import { until } from '../doubles/until.ts';
import { addTestCompany } from '../matching/matching-world.ts';
import { emptyDataFolder, type RunningProcess, startProcess } from './running-system.ts';
import { startWorkerProvider } from './worker-provider.ts';

export const INTERNAL_TOKEN = 'an-internal-token-of-some-length-for-tests';
const GRANTED_MICRO = 1_000_000_000n;
const PROCESS = 'turnpike ai-service';
const ALIASES = ['chat-default', 'extract-default', 'embed-default'];

export interface RunningAiService extends RunningProcess {
  readonly url: string;
}

interface WorldPlaces {
  readonly url: string;
  readonly redisUrl: string;
  drop(): Promise<void>;
}

export type WorkerWorld = Awaited<ReturnType<typeof openWorkerWorld>>;

/** A company with credits on the given servers, a provider, a mail server, and the AI service as a process. */
export async function openWorkerWorld({ url, redisUrl, drop }: WorldPlaces) {
  const data = await emptyDataFolder();
  const { clock, secrets, log } = {
    clock: createSystemClock(),
    secrets: createSystemSecrets(),
    log: createSilentLog(),
  };
  const provider = startWorkerProvider();
  const mailServer = await startMailServer();
  const bounds = { maxWaiting: 1_000, connectTimeoutMs: 60_000, statementTimeoutMs: 120_000 };
  const named = { url, log, applicationName: 'worker-world', poolSize: 6 };
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
    ...{ DATABASE_URL: url, REDIS_URL: redisUrl, SMTP_URL: `smtp://127.0.0.1:${mailServer.port}` },
    ...{ REDIS_TIMEOUT_MS: '60000', DATABASE_STATEMENT_TIMEOUT_MS: '60000' },
  };
  const sessions = `from pg_stat_activity where datname = current_database() and application_name = '${PROCESS}'`;
  const parts = { database, clock, secrets, log, jobQueue };

  return {
    ...{ ...parts, parts, companyId },
    async start(changes: Record<string, string> = {}): Promise<RunningAiService> {
      const running = startProcess('ai-service.ts', [], { ...env, ...changes });
      const line = await running.line('ready');
      return { ...running, url: /http:\S+/.exec(line)?.[0] ?? '' };
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
    async close(): Promise<void> {
      await jobQueue.stop(0);
      await mailServer.close();
      provider.close();
      await database.close();
      await drop();
      await data.remove();
    },
  };
}
