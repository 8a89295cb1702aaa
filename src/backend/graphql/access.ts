import type { GraphQLError, GraphQLSchema } from 'graphql';
import type { AttemptKind } from '../../domain/accounts/attempt-limits.ts';
import { isSteppedUp, type StepUpGrant } from '../../domain/accounts/two-factor.ts';
import type { SignedInUser } from '../../domain/accounts/user.ts';
import { forbidden, rateLimited, refusal, unauthenticated } from './errors.ts';
import type { RequestContext } from './request-context.ts';

/** What an operation can require, declared beside it as `authScopes: { companyAdmin: true }`. */
export interface Access {
  /** No token is required. */
  anyone: boolean;
  signedIn: boolean;
  /** Belongs to a company, in any role. */
  member: boolean;
  companyAdmin: boolean;
  superAdmin: boolean;
}

/** Rights are read from the user's row at each request, so a demotion or removal takes effect at once. */
export async function accessOf(context: RequestContext): Promise<Access> {
  const viewer = await context.viewer();
  const isMember = viewer !== null && viewer.companyId !== null;
  return {
    anyone: true,
    signedIn: viewer !== null,
    member: isMember,
    companyAdmin: isMember && viewer.role === 'COMPANY_ADMIN',
    superAdmin: viewer?.isSuperAdmin === true,
  };
}

/** Why the viewer may not call an operation. */
export function lackingRight(context: RequestContext): GraphQLError {
  const viewer = context.known();
  if (viewer === null) return unauthenticated();
  if (!viewer.mustSetUpTotp) return forbidden();
  const message =
    'Super admins need two-factor authentication here: set it up with beginTotp and confirmTotp.';
  return refusal('FORBIDDEN', message, { reason: 'TOTP_SETUP_REQUIRED' });
}

/**
 * For operations that require a recent code: STEP_UP_REQUIRED until `stepUp`, which is valid for ten minutes in the
 * same session. Users without two-factor authentication pass; with REQUIRE_SUPER_ADMIN_TOTP every super admin has it.
 */
export async function freshCode(context: RequestContext): Promise<void> {
  const viewer = await signedIn(context);
  if ((await context.serviceToken()) !== null)
    throw forbidden('A user has to do this, with a recent two-factor code.');
  if (!viewer.hasTotp) return;
  const { parts } = context;
  if (await isSteppedUp(parts, parts.database, stepUpGrant(context, viewer))) return;
  const message = 'This needs a fresh two-factor code: call stepUp with one, then repeat the request.';
  throw refusal('STEP_UP_REQUIRED', message);
}

export function stepUpGrant(context: RequestContext, { id }: SignedInUser): StepUpGrant {
  return { userId: id, sessionId: context.sessionId(), token: context.token ?? '' };
}

export async function signedIn(context: RequestContext): Promise<SignedInUser> {
  const viewer = await context.viewer();
  if (viewer === null) throw unauthenticated();
  return viewer;
}

type Member = SignedInUser & { readonly companyId: string };

/** The viewer as a member of a company. Every operation on a company's data takes the company from here. */
export async function member(context: RequestContext): Promise<Member> {
  const viewer = await signedIn(context);
  if (viewer.companyId === null) throw forbidden('You belong to no company.');
  return { ...viewer, companyId: viewer.companyId };
}

/**
 * Denied by default: the service does not start with an operation that does not declare who may call it. Objects need
 * no declaration: they are reachable only through operations.
 */
export function operationsWithoutAccess(schema: GraphQLSchema): readonly string[] {
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  return roots.flatMap((root) =>
    Object.values(root?.getFields() ?? {})
      .filter((field) => declaredAccess(field.extensions).length === 0)
      .map((field) => `${root?.name}.${field.name}`),
  );
}

/** The names of the rights that an operation declares. Any one of them is enough. */
export function declaredAccess(extensions: Readonly<Record<string, unknown>>): readonly string[] {
  const options = extensions.pothosOptions as { authScopes?: Record<string, unknown> } | undefined;
  const declared = options?.authScopes;
  if (typeof declared !== 'object' || declared === null) return [];
  return Object.entries(declared).flatMap(([name, isDemanded]) => (isDemanded === true ? [name] : []));
}

/**
 * Counts an attempt from the client's address and, if an account is given, on the account. RATE_LIMITED beyond the
 * limit.
 */
export async function countAttempt(
  context: RequestContext,
  kind: AttemptKind,
  account?: string,
): Promise<void> {
  const counted = await context.parts.attempts.count(kind, context.clientAddress, account);
  if (counted.outcome === 'refused') throw rateLimited(counted.retryAfterMs);
}
