import type { Clock } from '../../ports/clock.ts';
import type { Database } from '../../ports/database.ts';
import type { QueueDefinition, QueueWork } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import { ACCOUNTS_UPKEEP_CRON, ACCOUNTS_UPKEEP_QUEUE, createAccountsUpkeepHandler } from './sessions.ts';

interface AccountWorkParts {
  readonly database: Database;
  readonly clock: Clock;
  readonly log: Log;
}

export const ACCOUNT_QUEUES: readonly QueueDefinition[] = [ACCOUNTS_UPKEEP_QUEUE];

export function accountWork(parts: AccountWorkParts): readonly QueueWork[] {
  return [
    {
      queue: ACCOUNTS_UPKEEP_QUEUE,
      concurrency: 1,
      cron: ACCOUNTS_UPKEEP_CRON,
      handler: createAccountsUpkeepHandler(parts),
    },
  ];
}
