import type { DependencyChecks } from '../http/dependency-checks.ts';
import { createServiceApp, type ServiceApp, type ServiceAppParts } from '../http/service-app.ts';
import { addServiceHealth } from '../http/service-health.ts';

export interface GatewayParts extends Omit<ServiceAppParts, 'answerTimeoutMs'> {
  readonly dependencies: DependencyChecks;
}

/** Surface 1: model calls, under /llm/v1. */
export function createGateway({ dependencies, ...parts }: GatewayParts): ServiceApp {
  // A model may think for minutes before its first byte: the forwarding has time-outs of its own.
  const app = createServiceApp({ ...parts, answerTimeoutMs: null });
  addServiceHealth(app, dependencies);
  return app;
}
