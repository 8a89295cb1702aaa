import type { TokenInUse } from '../../domain/accounts/service-tokens.ts';
import type { SignedInUser } from '../../domain/accounts/user.ts';
import { type AuditDetails, appendAuditEntry } from '../../domain/audit/audit-log.ts';
import type { Database, Transaction } from '../../ports/database.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import { forbidden, unauthenticated } from './errors.ts';
import type { RequestContext } from './request-context.ts';

/** The audit log entry of a change; actor, time and address come from the request. */
export interface ChangeRecord {
  /** As `key.minted`. */
  readonly action: string;
  readonly objectKind: string;
  readonly objectId: string;
  /** Default: the viewer's company. A super admin changes other companies, or objects without one. */
  readonly companyId?: string | null;
  /** Default: the viewer. A sign-up or login has no token yet. */
  readonly actor?: { readonly id: string; readonly email: string };
  /** Named field by field; never a whole input, and no secret. */
  readonly details?: AuditDetails;
}

/** Stands in for an email address; an address has no space. */
function actorOf({ name }: TokenInUse): string {
  return `service token ${name}`.slice(0, 254);
}

export interface Change {
  readonly transaction: Transaction;
  /** The same transaction, for functions that would open their own. */
  readonly database: Database;
  /** Publishes only after the commit, so a subscriber that reads the database finds the change. */
  readonly sharedState: SharedState;
  record(record: ChangeRecord): Promise<void>;
  /** Call it if the stored state already equals the requested one: nothing is recorded. */
  nothingChanged(): void;
}

/**
 * One change by a person: the change and its entry in the audit log are committed together. `work` throws to refuse,
 * and then neither is there. A change that was neither recorded nor said to be none is a fault in
 * our code and is taken back, too. The viewer is looked up again first: a request can last for many seconds, with a slow
 * operation before this one or within it.
 */
export async function recordedChange<T>(
  context: RequestContext,
  work: (change: Change) => Promise<T>,
): Promise<T> {
  const { database, sharedState, clock } = context.parts;
  // Before the transaction: the embedded database has one connection, which the transaction then holds.
  const viewer = await context.viewer();
  const service = await context.serviceToken();
  const messages: { readonly topic: string; readonly message: string }[] = [];
  const result = await database.transaction(async (transaction) => {
    if (viewer !== null) refuseLostRights(viewer, await context.viewerNow(transaction));
    let isRecorded = false;
    const outcome = await work({
      transaction,
      database: { ...database, ...transaction, transaction: (inner) => inner(transaction) },
      sharedState: {
        ...sharedState,
        publish: async (topic, message) => void messages.push({ topic, message }),
      },
      nothingChanged() {
        isRecorded = true;
      },
      async record({ action, objectKind, objectId, companyId, actor, details }) {
        isRecorded = true;
        await appendAuditEntry(transaction, {
          happenedAt: new Date(clock.now()),
          companyId: companyId === undefined ? (viewer?.companyId ?? null) : companyId,
          // A token acts by itself: the entry names it, not the person who created it.
          actorId: service?.id ?? actor?.id ?? viewer?.id ?? null,
          actorEmail: service === null ? (actor?.email ?? viewer?.email ?? null) : actorOf(service),
          action,
          objectKind,
          objectId,
          details: details ?? {},
          clientAddress: context.clientAddress,
          requestId: context.requestId,
        });
      },
    });
    if (!isRecorded) throw new Error('a change was not recorded in the audit log');
    return outcome;
  });
  for (const { topic, message } of messages) {
    // The change is committed: caches also poll for changes within a second.
    await sharedState.publish(topic, message).catch((error: unknown) => {
      context.log.warn('a change could not be published to other processes', { topic, error });
    });
  }
  return result;
}

function refuseLostRights(before: SignedInUser, now: SignedInUser | null): void {
  if (now === null) throw unauthenticated();
  const isLess =
    now.companyId !== before.companyId ||
    (before.role === 'COMPANY_ADMIN' && now.role !== 'COMPANY_ADMIN') ||
    (before.isSuperAdmin && !now.isSuperAdmin);
  if (isLess) throw forbidden();
}
