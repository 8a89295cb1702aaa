import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { QueueDefinition, QueueWork } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import {
  ACCOUNTS_RETENTION_CRON,
  ACCOUNTS_RETENTION_QUEUE,
  createAccountsRetentionHandler,
} from './sessions.ts';

interface AccountWorkParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

export const ACCOUNT_QUEUES: readonly QueueDefinition[] = [ACCOUNTS_RETENTION_QUEUE];

export function accountWork(parts: AccountWorkParts): readonly QueueWork[] {
  return [
    {
      queue: ACCOUNTS_RETENTION_QUEUE,
      concurrency: 1,
      cron: ACCOUNTS_RETENTION_CRON,
      handler: createAccountsRetentionHandler(parts),
    },
  ];
}
