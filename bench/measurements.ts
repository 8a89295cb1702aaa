import { charges } from './charges.ts';
import { databasePglite } from './database-pglite.ts';
import { databasePostgres } from './database-postgres.ts';
import type { Measurement } from './frame/measurement.ts';
import { gatewayCost } from './gateway-cost.ts';
import { gatewayStreams } from './gateway-streams.ts';
import { graphql } from './graphql.ts';
import { jobQueue } from './job-queue.ts';
import { keys } from './keys.ts';
import { liveLogs } from './live-logs.ts';
import { matchProcesses } from './match-processes.ts';
import { matching } from './matching.ts';
import { mcp } from './mcp.ts';
import { memory } from './memory.ts';
import { sharedState } from './shared-state.ts';
import { start } from './start.ts';
import { usageReports } from './usage-report.ts';
import { webhook } from './webhook.ts';

/** In the order in which they run. */
export const measurements: readonly Measurement[] = [
  start,
  memory,
  databasePostgres,
  databasePglite,
  sharedState,
  jobQueue,
  matching,
  matchProcesses,
  keys,
  usageReports,
  charges,
  webhook,
  graphql,
  liveLogs,
  gatewayCost,
  gatewayStreams,
  mcp,
];
