import { breakers } from './breakers.ts';
import { charges } from './charges.ts';
import { databasePglite } from './database-pglite.ts';
import { databasePostgres } from './database-postgres.ts';
import { embeddings } from './embeddings.ts';
import type { Measurement } from './frame/measurement.ts';
import { gatewayCost, gatewayWires } from './gateway-cost.ts';
import { gatewayMillion } from './gateway-million.ts';
import { gatewayStreams } from './gateway-streams.ts';
import { graphql } from './graphql.ts';
import { jobQueue } from './job-queue.ts';
import { keys } from './keys.ts';
import { liveLogs } from './live-logs.ts';
import { matchProcesses } from './match-processes.ts';
import { matching, matchingLarge } from './matching.ts';
import { mcp } from './mcp.ts';
import { mcpMemory } from './mcp-memory.ts';
import { memory } from './memory.ts';
import { monitoringCost } from './monitoring-cost.ts';
import { openLoop } from './open-loop.ts';
import { pacedStreams } from './paced-streams.ts';
import { parsing } from './parsing.ts';
import { scale, scalePinned } from './scale.ts';
import { scaleHotCompany } from './scale-hot-company.ts';
import { sharedState } from './shared-state.ts';
import { start } from './start.ts';
import { steady } from './steady.ts';
import { upstreamClient } from './upstream-client.ts';
import { usageReports } from './usage-report.ts';
import { webhook } from './webhook.ts';
import { workers } from './workers.ts';
import { workersMemory } from './workers-memory.ts';
import { world } from './world.ts';

/** In the order in which they run. */
export const measurements: readonly Measurement[] = [
  start,
  memory,
  databasePostgres,
  databasePglite,
  sharedState,
  jobQueue,
  workers,
  workersMemory,
  monitoringCost,
  parsing,
  embeddings,
  matching,
  matchingLarge,
  matchProcesses,
  breakers,
  keys,
  usageReports,
  world,
  charges,
  webhook,
  graphql,
  liveLogs,
  upstreamClient,
  gatewayCost,
  gatewayWires,
  openLoop,
  pacedStreams,
  gatewayStreams,
  gatewayMillion,
  scale,
  scalePinned,
  scaleHotCompany,
  steady,
  mcp,
  mcpMemory,
];
