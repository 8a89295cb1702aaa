import { databasePglite } from './database-pglite.ts';
import { databasePostgres } from './database-postgres.ts';
import type { Measurement } from './frame/measurement.ts';
import { gatewayCost } from './gateway-cost.ts';
import { gatewayStreams } from './gateway-streams.ts';
import { jobQueue } from './job-queue.ts';
import { keys } from './keys.ts';
import { memory } from './memory.ts';
import { sharedState } from './shared-state.ts';
import { start } from './start.ts';

/** In the order in which they run. */
export const measurements: readonly Measurement[] = [
  start,
  memory,
  databasePostgres,
  databasePglite,
  sharedState,
  jobQueue,
  keys,
  gatewayCost,
  gatewayStreams,
];
