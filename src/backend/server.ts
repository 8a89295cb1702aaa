import type { DependencyChecks } from '../http/dependency-checks.ts';
import { createServiceApp, type ServiceApp, type ServiceAppParts } from '../http/service-app.ts';
import { addServiceHealth } from '../http/service-health.ts';

export interface BackendParts extends ServiceAppParts {
  readonly dependencies: DependencyChecks;
}

/** Surface 2: what companies and super admins use. */
export function createBackend({ dependencies, ...parts }: BackendParts): ServiceApp {
  const app = createServiceApp(parts);
  addServiceHealth(app, dependencies);
  return app;
}
