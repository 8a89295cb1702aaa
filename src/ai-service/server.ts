import { internalAccess } from '../http/client-identity.ts';
import type { DocsFiles } from '../http/openapi.ts';
import { createServiceApp, type ServiceApp, type ServiceAppParts } from '../http/service-app.ts';
import type { Database } from '../ports/database.ts';
import { addApiDocs } from './api-docs.ts';
import { type AiHealthParts, addHealth } from './health.ts';
import { addMatchGenerator, type MatchGeneratorParts } from './match-generator.ts';
import {
  addMetrics,
  addMonitoring,
  addMonitoringStats,
  type MetricsRouteParts,
  type MonitoringStatsParts,
} from './monitoring.ts';
import { addRoomEvents, type RoomEventParts } from './room-events.ts';

type AiServiceParts = ServiceAppParts &
  AiHealthParts &
  MatchGeneratorParts &
  MonitoringStatsParts &
  MetricsRouteParts &
  RoomEventParts & {
    readonly internalTokens: readonly string[];
    readonly database: Database;
    readonly docsFiles: DocsFiles;
  };

/** Surface 3: background work and its monitoring. Everything except health and documentation is internal. */
export function createAiService(parts: AiServiceParts): ServiceApp {
  const guard = internalAccess(parts.internalTokens);
  const app = createServiceApp(parts, (guarded) => {
    guarded.use('/api/*', guard);
    guarded.use('/monitoring/*', guard);
  });
  addHealth(app, parts);
  addApiDocs(app, parts.docsFiles);
  addMonitoring(app, parts.database);
  addMonitoringStats(app, parts);
  addMetrics(app, parts);
  addMatchGenerator(app, parts);
  addRoomEvents(app, parts);
  return app;
}
