import type { JobHandler, QueueDefinition } from '../../ports/job-queue.ts';
import { type CallPartitionParts, openCallPartitions } from './call-partitions.ts';
import { type RetireCallsParts, retireCalls } from './retire-calls.ts';

/** Makes the partitions of the time ahead, and lets go of calls past their time. */
export const CALLS_UPKEEP_QUEUE: QueueDefinition = {
  name: 'calls-upkeep',
  retries: 3,
  retryDelaySeconds: 60,
  retryDelayMaxSeconds: 600,
  runSeconds: 4 * 3_600,
  heartbeatSeconds: 60,
};
/** Every hour, because it mostly finds nothing to do, and an installation may run for some hours of the day only. */
export const CALLS_UPKEEP_CRON = '17 * * * *';

/** The handler of CALLS_UPKEEP_QUEUE. */
export function createCallsUpkeepHandler(parts: CallPartitionParts & RetireCallsParts): JobHandler {
  return async ({ signal }) => {
    await openCallPartitions(parts);
    await retireCalls(parts, signal);
  };
}
