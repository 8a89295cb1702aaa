import { type SessionTokens, startSession } from '../../domain/accounts/session.ts';
import type { Change } from './recorded-change.ts';
import type { RequestContext } from './request-context.ts';

export interface SessionOwner {
  readonly id: string;
  readonly email: string;
  readonly companyId: string | null;
}

/** Starts a session within a change and records it. */
export async function startRecordedSession(
  context: RequestContext,
  { transaction, record }: Change,
  owner: SessionOwner,
): Promise<SessionTokens> {
  const { sessionId, ...tokens } = await startSession(context.parts, transaction, owner, context);
  const object = { objectKind: 'session', objectId: sessionId };
  await record({ action: 'session.started', ...object, companyId: owner.companyId, actor: owner });
  return tokens;
}
