import { aiOperationObjects } from './objects/ai-operation.ts';
import { alertSettingsObject } from './objects/alert-settings.ts';
import { apiKeyObjects } from './objects/api-key.ts';
import { auditEntryObjects } from './objects/audit-entry.ts';
import { capturedMailObjects } from './objects/captured-mail.ts';
import { catalogObjects } from './objects/catalog.ts';
import { circuitBreakerObjects } from './objects/circuit-breaker.ts';
import { companyObject } from './objects/company.ts';
import { creditAlertObject } from './objects/credit-alert.ts';
import { creditObjects } from './objects/credit-balance.ts';
import { errorGroupObject } from './objects/error-group.ts';
import { invoiceObjects } from './objects/invoice.ts';
import { jobObjects } from './objects/job.ts';
import { logEntryObject } from './objects/log-entry.ts';
import { matchObjects } from './objects/match.ts';
import { matchGeneratorObjects } from './objects/match-generator.ts';
import { meetingObjects } from './objects/meeting.ts';
import { memberObjects } from './objects/member.ts';
import { modelAliasObjects } from './objects/model-alias.ts';
import { paymentEventObjects } from './objects/payment-event.ts';
import { planSubscriptionObject } from './objects/plan-subscription.ts';
import { purchaseObjects } from './objects/purchase.ts';
import { scalars } from './objects/scalars.ts';
import { serviceProcessObjects } from './objects/service-process.ts';
import { sessionObjects } from './objects/session.ts';
import { talentObjects } from './objects/talent.ts';
import { usageFailuresObjects } from './objects/usage-failures.ts';
import { usageReportObjects } from './objects/usage-report.ts';
import { whoAmIObject } from './objects/who-am-i.ts';
import { workQueueObjects } from './objects/work-queue.ts';
import type { Declaration } from './schema-builder.ts';

/** Every object, enumeration and scalar. What stands behind their names is in schema-names.ts. */
export const objects: readonly Declaration[] = [
  scalars,
  whoAmIObject,
  companyObject,
  sessionObjects,
  memberObjects,
  apiKeyObjects,
  modelAliasObjects,
  auditEntryObjects,
  creditObjects,
  usageReportObjects,
  usageFailuresObjects,
  creditAlertObject,
  alertSettingsObject,
  invoiceObjects,
  catalogObjects,
  purchaseObjects,
  planSubscriptionObject,
  paymentEventObjects,
  logEntryObject,
  capturedMailObjects,
  jobObjects,
  talentObjects,
  matchObjects,
  matchGeneratorObjects,
  meetingObjects,
  serviceProcessObjects,
  circuitBreakerObjects,
  workQueueObjects,
  aiOperationObjects,
  errorGroupObject,
];
