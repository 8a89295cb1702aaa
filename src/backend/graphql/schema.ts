import { DirectiveLocation, GraphQLDirective, GraphQLSchema } from 'graphql';
import { operationsWithoutAccess } from './access.ts';
import { auditLogDeclarations } from './accounts/audit-log.ts';
import { ceilingDeclarations } from './accounts/ceilings.ts';
import { companyDeclarations } from './accounts/companies.ts';
import { emailVerificationDeclarations } from './accounts/email-verification.ts';
import { memberDeclarations } from './accounts/members.ts';
import { passwordDeclarations } from './accounts/passwords.ts';
import { serviceTokenDeclarations } from './accounts/service-tokens.ts';
import { sessionDeclarations } from './accounts/sessions.ts';
import { suspensionDeclarations } from './accounts/suspension.ts';
import { twoFactorDeclarations } from './accounts/two-factor.ts';
import { alertChannelDeclarations } from './billing/alert-channels.ts';
import { alertDeclarations } from './billing/alerts.ts';
import { budgetDeclarations } from './billing/budgets.ts';
import { callDeclarations } from './billing/calls.ts';
import { catalogDeclarations } from './billing/catalog.ts';
import { catalogChangeDeclarations } from './billing/catalog-changes.ts';
import { chargeCorrectionDeclarations } from './billing/charge-corrections.ts';
import { checkoutDeclarations } from './billing/checkout.ts';
import { creditDeclarations } from './billing/credits.ts';
import { enterpriseDeclarations } from './billing/enterprise.ts';
import { invoiceDeclarations } from './billing/invoices.ts';
import { marginDeclarations } from './billing/margins.ts';
import { paidAmountDeclarations } from './billing/paid-amounts.ts';
import { paymentEventDeclarations } from './billing/payment-events.ts';
import { subscriptionDeclarations } from './billing/subscriptions.ts';
import { usageDeclarations } from './billing/usage.ts';
import { userCreditDeclarations } from './billing/user-credits.ts';
import { documentDeclarations } from './hiring/documents.ts';
import { jobDeclarations } from './hiring/jobs.ts';
import { matchDeclarations } from './hiring/matches.ts';
import { meetingDeclarations } from './hiring/meetings.ts';
import { roomOwnerDeclarations } from './hiring/room-owners.ts';
import { talentDeclarations } from './hiring/talents.ts';
import { answerCacheDeclarations } from './keys/answer-cache.ts';
import { apiKeyPageDeclarations } from './keys/api-key-page.ts';
import { apiKeyDeclarations } from './keys/api-keys.ts';
import { callPayloadDeclarations } from './keys/call-payloads.ts';
import { apiKeyChangeDeclarations } from './keys/change-api-key.ts';
import { aliasTargetDeclarations } from './models/alias-targets.ts';
import { changeAliasDeclarations } from './models/change-alias.ts';
import { hostedToolDeclarations } from './models/hosted-tools.ts';
import { knownModelDeclarations } from './models/known-models.ts';
import { modelAliasDeclarations } from './models/model-aliases.ts';
import { ownKeyDeclarations } from './models/own-keys.ts';
import { targetHealthDeclarations } from './models/target-health.ts';
import { aiOperationDeclarations } from './operations/ai-operations.ts';
import { auditReportDeclarations } from './operations/audit-report.ts';
import { callHookDeclarations } from './operations/call-hooks.ts';
import { capturedMailDeclarations } from './operations/captured-mails.ts';
import { circuitBreakerDeclarations } from './operations/circuit-breakers.ts';
import { logDeclarations } from './operations/logs.ts';
import { matchGeneratorDeclarations } from './operations/match-generator.ts';
import { objectNameDeclarations } from './operations/object-names.ts';
import { processDeclarations } from './operations/processes.ts';
import { queueDeclarations } from './operations/queues.ts';
import { withheldUsageDeclarations } from './operations/withheld-usage.ts';
import { createSchemaBuilder, type Declaration, scalars } from './schema-builder.ts';
import { guardOperations } from './service-scopes.ts';

/** The lists that the files of each capability export. A new operation needs no line here, a new file needs one. */
const declarations: readonly Declaration[] = [
  scalars,
  ...auditLogDeclarations,
  ...companyDeclarations,
  ...emailVerificationDeclarations,
  ...ceilingDeclarations,
  ...memberDeclarations,
  ...passwordDeclarations,
  ...serviceTokenDeclarations,
  ...sessionDeclarations,
  ...suspensionDeclarations,
  ...twoFactorDeclarations,
  ...alertDeclarations,
  ...alertChannelDeclarations,
  ...budgetDeclarations,
  ...catalogDeclarations,
  ...catalogChangeDeclarations,
  ...enterpriseDeclarations,
  ...checkoutDeclarations,
  ...creditDeclarations,
  ...userCreditDeclarations,
  ...invoiceDeclarations,
  ...paidAmountDeclarations,
  ...paymentEventDeclarations,
  ...subscriptionDeclarations,
  ...usageDeclarations,
  ...callDeclarations,
  ...chargeCorrectionDeclarations,
  ...documentDeclarations,
  ...jobDeclarations,
  ...matchDeclarations,
  ...meetingDeclarations,
  ...roomOwnerDeclarations,
  ...talentDeclarations,
  ...apiKeyDeclarations,
  ...apiKeyPageDeclarations,
  ...apiKeyChangeDeclarations,
  ...answerCacheDeclarations,
  ...callPayloadDeclarations,
  ...modelAliasDeclarations,
  ...aliasTargetDeclarations,
  ...changeAliasDeclarations,
  ...knownModelDeclarations,
  ...targetHealthDeclarations,
  ...hostedToolDeclarations,
  ...marginDeclarations,
  ...ownKeyDeclarations,
  ...aiOperationDeclarations,
  ...callHookDeclarations,
  ...capturedMailDeclarations,
  ...circuitBreakerDeclarations,
  ...logDeclarations,
  ...matchGeneratorDeclarations,
  ...objectNameDeclarations,
  ...processDeclarations,
  ...queueDeclarations,
  ...withheldUsageDeclarations,
  ...auditReportDeclarations,
];

/** The whole schema. Throws if an operation does not declare who may call it. */
export function createSchema(declared: readonly Declaration[] = declarations): GraphQLSchema {
  const builder = createSchemaBuilder();
  builder.queryType();
  builder.mutationType();
  for (const declare of declared) declare(builder);
  const schema = knownToOlderTools(builder.toSchema());
  const open = operationsWithoutAccess(schema);
  if (open.length > 0) throw new Error(`${open.join(', ')}: say who may call it, by authScopes`);
  guardOperations(schema);
  return schema;
}

/**
 * Without the directive locations that the specification of October 2021 lacks: tools of that time refuse a schema that
 * names another location, and nothing here uses one.
 */
function knownToOlderTools(schema: GraphQLSchema): GraphQLSchema {
  const isKnown = (location: DirectiveLocation) => location !== DirectiveLocation.DIRECTIVE_DEFINITION;
  const directives = schema.getDirectives().map((directive) => {
    const config = directive.toConfig();
    return new GraphQLDirective({ ...config, locations: config.locations.filter(isKnown) });
  });
  return new GraphQLSchema({ ...schema.toConfig(), directives });
}
