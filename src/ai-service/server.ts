import { internalAccess } from '../http/internal-access.ts';
import { createServiceApp, type ServiceApp, type ServiceAppParts } from '../http/service-app.ts';
import type { Database } from '../ports/database.ts';
import { type AiHealthParts, addHealth } from './health.ts';
import { addMonitoring } from './monitoring.ts';

export type AiServiceParts = ServiceAppParts &
  AiHealthParts & {
    readonly internalToken: string;
    readonly database: Database;
  };

/** Surface 3: background work and its monitoring. Everything but health and documentation is internal. */
export function createAiService(parts: AiServiceParts): ServiceApp {
  const app = createServiceApp(parts);
  addHealth(app, parts);
  const guard = internalAccess(parts.internalToken);
  app.use('/api/*', guard);
  app.use('/monitoring/*', guard);
  addMonitoring(app, parts.database);
  return app;
}
