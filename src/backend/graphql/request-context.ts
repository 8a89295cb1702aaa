import type { Attempts } from '../../domain/accounts/attempt-limits.ts';
import type { MailOutbox } from '../../domain/accounts/mail-outbox.ts';
import { findServiceToken, isServiceToken, type TokenInUse } from '../../domain/accounts/service-tokens.ts';
import type { SuspensionOutbox } from '../../domain/accounts/suspension.ts';
import type { AccessTokens, VerifiedToken } from '../../domain/accounts/tokens.ts';
import { findSignedInUser, type SignedInUser } from '../../domain/accounts/user.ts';
import type { ChannelOutbox } from '../../domain/alerts/dispatch.ts';
import type { PayloadBounds } from '../../domain/call-payloads/call-payloads.ts';
import type { RedactedKind } from '../../domain/call-payloads/redaction.ts';
import type { AnswerCipher } from '../../domain/calls/idempotency/answer-cipher.ts';
import type { HeldCredits } from '../../domain/credits/holds/holds.ts';
import type { JobFields } from '../../domain/jobs/job.ts';
import type { CompanyCounters } from '../../domain/limits/company-ceilings.ts';
import type { LogWatchers } from '../../domain/logs/live-log.ts';
import type { SummaryOutbox } from '../../domain/meetings/summary-text.ts';
import type { Cipher } from '../../domain/models/cipher.ts';
import type { PlanRequestOutbox } from '../../domain/payments/assign-plan.ts';
import type { PaymentEvents } from '../../domain/payments/payment-events.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Database, Statements } from '../../ports/database.ts';
import type { JobQueue, QueueDepth } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import type { CapturedMail } from '../../ports/mail.ts';
import type { ModelUpstream } from '../../ports/model-upstream.ts';
import type { ApproveHost } from '../../ports/outgoing-addresses.ts';
import type { CheckoutTaxes, PaymentProvider } from '../../ports/payment-provider.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { SharedState } from '../../ports/shared-state.ts';
import type { WebhookSender } from '../../ports/webhooks/webhook-sender.ts';
import type { RequestLimits } from '../request-limits.ts';
import type { AnswerSize } from './answer-size.ts';

/** `open`: anyone; `invited`: only invited people; `closed`: no new accounts. */
type SignUpMode = 'open' | 'invited' | 'closed';

/** What the operations need: ports, and the domain's parts. */
export interface GraphqlParts {
  readonly clock: Clock;
  /** For times that other processes write or compare: heartbeats and leases. */
  readonly databaseClock: Clock;
  readonly log: Log;
  readonly secrets: Secrets;
  readonly database: Database;
  readonly sharedState: SharedState;
  readonly accessTokens: AccessTokens;
  readonly attempts: Attempts;
  readonly requestLimits: RequestLimits;
  readonly mailOutbox: MailOutbox & SuspensionOutbox & PlanRequestOutbox & SummaryOutbox & ChannelOutbox;
  /** Undefined if mails are sent to a mail server. */
  readonly capturedMail?: CapturedMail;
  /** Queues documents to be read. */
  readonly jobQueue: Pick<JobQueue, 'enqueue'>;
  /** The background jobs of all processes, for operators. */
  readonly queues: QueueOperations;
  /** Parses a pasted posting at once, free of charge; returns only the fields that the posting has. */
  readonly draftPosting: (text: string, companyId: string) => Promise<Partial<JobFields>>;
  /** Null if providers may have any address. */
  readonly approveHost: ApproveHost | null;
  /** Which addresses alert channels may have, and the sender of test alerts. */
  readonly alertRules: { readonly webhooks: WebhookSender; readonly allowsHttp: boolean };
  /** What companies have used of their ceilings on calls and documents. */
  readonly counters: CompanyCounters;
  /** For test calls to targets. */
  readonly providers: ModelUpstream;
  /** Encrypts providers' keys. */
  readonly cipher: Cipher;
  /** Decrypts stored prompts and answers. */
  readonly answerCipher: AnswerCipher;
  /** The operator's limits for stored prompts and answers. */
  readonly payloads: PayloadBounds & { readonly maxBytes: number; readonly redacts: readonly RedactedKind[] };
  readonly heldCredits: HeldCredits;
  readonly logWatchers: LogWatchers;
  readonly provider: PaymentProvider;
  readonly paymentEvents: PaymentEvents;
  readonly checkoutTaxes: CheckoutTaxes;
  /** Where the payment provider redirects users to. */
  readonly consoleUrl: string;
  /** The part of every model alias before the slash. */
  readonly aliasPrefix: string;
  /** Who may sign up. */
  readonly signUpMode: SignUpMode;
  /** Whether super admins need two-factor authentication to have their rights. */
  readonly requireSuperAdminTotp: boolean;
  /** Credits granted to a company once its first admin has verified the address. */
  readonly trialCredits: number;
}

/** What operators can see and do with queues. */
interface QueueOperations extends Pick<JobQueue, 'deadLetters' | 'redrive' | 'discard'> {
  depths(): Promise<readonly QueueDepth[]>;
}

/** The address and headers of a request. A WebSocket creates one per subscription. */
export interface RequestOrigin {
  readonly requestId: string;
  readonly clientAddress: string;
  readonly userAgent: string;
  /** The access token as it was sent, not verified. */
  readonly token: string | null;
}

export interface RequestContext extends RequestOrigin {
  /** The size of the response so far; undefined if it is not counted. */
  readonly answerSize?: AnswerSize;
  readonly parts: GraphqlParts;
  readonly log: Log;
  /** The signed-in user; null without a valid token or if the user no longer exists. Loaded once. */
  viewer(): Promise<SignedInUser | null>;
  /** The result of `viewer`, if it was called before. */
  known(): SignedInUser | null;
  /** The same look-up once more, for a change: the viewer may have been demoted or removed since the request began. */
  viewerNow(statements: Statements): Promise<SignedInUser | null>;
  /** The session of the token; null for a token without one. Known once `viewer` has been looked up. */
  sessionId(): string | null;
  /** The live service token of the request; null for users. `viewer` is then its creator. */
  serviceToken(): Promise<TokenInUse | null>;
}

export function createRequestContext(parts: GraphqlParts, origin: RequestOrigin): RequestContext {
  let looked: Promise<SignedInUser | null> | null = null;
  let found: SignedInUser | null = null;
  let sessionId: string | null = null;
  let service: TokenInUse | null = null;
  let subject: VerifiedToken | null = null;
  async function look(): Promise<SignedInUser | null> {
    if (origin.token === null) return null;
    if (isServiceToken(origin.token)) {
      service = await findServiceToken(parts, parts.database, origin.token);
      found = service?.user ?? null;
      return found;
    }
    subject = await parts.accessTokens.verify(origin.token);
    if (subject === null) return null;
    found = await findSignedInUser(parts.database, subject, parts);
    if (found !== null) sessionId = subject.sessionId;
    return found;
  }
  async function viewerNow(statements: Statements): Promise<SignedInUser | null> {
    if (subject !== null) return await findSignedInUser(statements, subject, parts);
    if (service === null) return null;
    return (await findServiceToken(parts, statements, origin.token ?? ''))?.user ?? null;
  }
  function viewer(): Promise<SignedInUser | null> {
    looked ??= look();
    return looked;
  }
  return {
    ...origin,
    parts,
    log: parts.log.with({ requestId: origin.requestId }),
    viewer,
    viewerNow,
    async serviceToken() {
      if (origin.token === null || !isServiceToken(origin.token)) return null;
      await viewer();
      return service;
    },
    known: () => found,
    sessionId: () => sessionId,
  };
}
