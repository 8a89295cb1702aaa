import { defaultFieldResolver, type GraphQLSchema } from 'graphql';
import type { ServiceScope, TokenInUse } from '../../domain/accounts/service-tokens.ts';
import { forbidden, refusal } from './errors.ts';
import type { RequestContext } from './request-context.ts';

/**
 * The scope of a service token that each operation requires. Denied by default: a token cannot call an operation that
 * has no row here, or one that needs a recent code. Operations that change who has access (sessions, passwords,
 * two-factor authentication, service tokens, roles) or spend money have no row on purpose.
 */
export const SCOPE_OF_OPERATION: Readonly<Record<string, ServiceScope>> = {
  company: 'company:read',
  modelAliases: 'company:read',
  plans: 'company:read',
  creditPacks: 'company:read',
  creditPackTerms: 'company:read',
  members: 'members:read',
  invitations: 'members:read',
  inviteMember: 'members:write',
  withdrawInvitation: 'members:write',
  removeMember: 'members:write',
  apiKeys: 'keys:read',
  apiKeyPage: 'keys:read',
  createApiKey: 'keys:write',
  rotateApiKey: 'keys:write',
  revokeApiKey: 'keys:write',
  updateApiKey: 'keys:write',
  updateApiKeyLimits: 'keys:write',
  usage: 'usage:read',
  usageFailures: 'usage:read',
  calls: 'usage:read',
  creditBalance: 'billing:read',
  creditTransactions: 'billing:read',
  creditLots: 'billing:read',
  creditStatement: 'billing:read',
  userCreditTransactions: 'billing:read',
  budgets: 'billing:read',
  creditAlerts: 'billing:read',
  alertSettings: 'billing:read',
  alertChannels: 'billing:read',
  alertEventKinds: 'billing:read',
  alertDeliveries: 'billing:read',
  subscription: 'billing:read',
  creditPackPurchases: 'billing:read',
  invoices: 'billing:read',
  auditLog: 'audit:read',
  jobs: 'hiring:read',
  job: 'hiring:read',
  talents: 'hiring:read',
  talent: 'hiring:read',
  matches: 'hiring:read',
  matchWeights: 'hiring:read',
  meetings: 'hiring:read',
  meeting: 'hiring:read',
  meetingSummary: 'hiring:read',
  createJob: 'hiring:write',
  updateJob: 'hiring:write',
  closeJob: 'hiring:write',
  createTalent: 'hiring:write',
  updateTalent: 'hiring:write',
  acceptTalentProposal: 'hiring:write',
  rejectTalentProposal: 'hiring:write',
  createMeeting: 'hiring:write',
  addMeetingTranscript: 'hiring:write',
  deleteMeetingTranscript: 'hiring:write',
  linkMeeting: 'hiring:write',
};

/**
 * Adds the check to every operation's resolver, so that aliases and fragments cannot bypass it. Requests without a
 * service token pass.
 */
export function guardOperations(schema: GraphQLSchema): void {
  for (const root of [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]) {
    for (const field of Object.values(root?.getFields() ?? {})) {
      const { resolve = defaultFieldResolver, subscribe } = field;
      field.resolve = async (source, args, context: RequestContext, info) => {
        await requireScope(context, field.name);
        return await resolve(source, args, context, info);
      };
      if (subscribe === undefined) continue;
      field.subscribe = async (source, args, context: RequestContext, info) => {
        await requireScope(context, field.name);
        return await subscribe(source, args, context, info);
      };
    }
  }
}

async function requireScope(context: RequestContext, operation: string): Promise<void> {
  // The viewer check verifies the token; an unknown one is refused as unauthenticated.
  const token = await context.serviceToken();
  if (token === null) return;
  const scope = Object.hasOwn(SCOPE_OF_OPERATION, operation) ? SCOPE_OF_OPERATION[operation] : undefined;
  if (scope === undefined) {
    throw forbidden(`${operation} cannot be called with a service token: a person has to sign in for it.`);
  }
  refuseWithout(token, scope);
}

/** For a field that needs another scope than its operation. */
export async function requireTokenScope(context: RequestContext, scope: ServiceScope): Promise<void> {
  const token = await context.serviceToken();
  if (token !== null) refuseWithout(token, scope);
}

function refuseWithout({ scopes }: Pick<TokenInUse, 'scopes'>, scope: ServiceScope): void {
  if (scopes.includes(scope)) return;
  const message = `This service token lacks the scope ${scope}: create one that has it.`;
  throw refusal('FORBIDDEN', message, { reason: 'SCOPE_REQUIRED', scope });
}

/** For rules finer than a scope, such as which role may be granted. */
export async function refuseServiceToken(context: RequestContext, message: string): Promise<void> {
  if ((await context.serviceToken()) !== null) throw forbidden(message);
}
