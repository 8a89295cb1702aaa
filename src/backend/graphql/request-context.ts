import type { Attempts } from '../../domain/accounts/attempt-limits.ts';
import type { MailOutbox } from '../../domain/accounts/mail-outbox.ts';
import { findServiceToken, isServiceToken, type TokenInUse } from '../../domain/accounts/service-tokens.ts';
import type { AccessTokens } from '../../domain/accounts/tokens.ts';
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
import type { Database } from '../../ports/database.ts';
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
export type SignUpMode = 'open' | 'invited' | 'closed';

/** What the operations need: ports, and the domain's parts. */
export interface GraphqlParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly secrets: Secrets;
  readonly database: Database;
  readonly sharedState: SharedState;
  readonly accessTokens: AccessTokens;
  readonly attempts: Attempts;
  readonly requestLimits: RequestLimits;
  readonly mailOutbox: MailOutbox & PlanRequestOutbox & SummaryOutbox & ChannelOutbox;
  /** Left out where a mail server takes the mails. */
  readonly capturedMail?: CapturedMail;
  /** Where documents wait to be read. */
  readonly jobQueue: Pick<JobQueue, 'enqueue'>;
  /** The background work of all processes, for operators. */
  readonly queues: QueueDesk;
  /** Reads a pasted posting at once, free of charge; the result has only the fields that the posting names. */
  readonly draftPosting: (text: string, companyId: string) => Promise<Partial<JobFields>>;
  /** Null where the addresses of providers may be anywhere. */
  readonly approveHost: ApproveHost | null;
  /** Which addresses alert channels may have, and how test alerts leave. */
  readonly alertRules: { readonly webhooks: WebhookSender; readonly allowsHttp: boolean };
  /** What companies use of their ceilings on calls and documents. */
  readonly counters: CompanyCounters;
  /** For test calls to targets. */
  readonly providers: ModelUpstream;
  /** Seals providers' keys. */
  readonly cipher: Cipher;
  /** Opens stored prompts and answers. */
  readonly answerCipher: AnswerCipher;
  /** The operator's bounds on them. */
  readonly payloads: PayloadBounds & { readonly maxBytes: number; readonly redacts: readonly RedactedKind[] };
  readonly heldCredits: HeldCredits;
  readonly logWatchers: LogWatchers;
  readonly provider: PaymentProvider;
  readonly paymentEvents: PaymentEvents;
  readonly checkoutTaxes: CheckoutTaxes;
  /** Where the payment provider leads people back to. */
  readonly consoleUrl: string;
  /** What stands before the slash of every model alias. */
  readonly aliasPrefix: string;
  /** Who gets an account. */
  readonly signUpMode: SignUpMode;
  /** Whether super admins have their rights only with two-factor authentication. */
  readonly requireSuperAdminTotp: boolean;
  /** What a company is granted, in credits, once its first admin has verified the address. */
  readonly trialCredits: number;
}

/** What operators see and do of queues. */
export interface QueueDesk extends Pick<JobQueue, 'deadLetters' | 'redrive' | 'discard'> {
  depths(): Promise<readonly QueueDepth[]>;
}

/** Where a request came from and with what. A WebSocket makes one for each of its subscriptions. */
export interface RequestOrigin {
  readonly requestId: string;
  readonly clientAddress: string;
  readonly userAgent: string;
  /** The access token as it was sent, whatever it is worth. */
  readonly token: string | null;
}

export interface RequestContext extends RequestOrigin {
  /** What the answer has so far; left out where it is not counted. */
  readonly answerSize?: AnswerSize;
  readonly parts: GraphqlParts;
  readonly log: Log;
  /** Who asks, by a valid token and a row that is still there; null for everybody else. Looked up once. */
  viewer(): Promise<SignedInUser | null>;
  /** What `viewer` has found, where it has been looked up. */
  known(): SignedInUser | null;
  /** The session of the token; null for a token without one. Known once `viewer` has been looked up. */
  sessionId(): string | null;
  /** Of a request that came with a live service token; null for people. `viewer` is then its creator. */
  serviceToken(): Promise<TokenInUse | null>;
}

export function createRequestContext(parts: GraphqlParts, origin: RequestOrigin): RequestContext {
  let looked: Promise<SignedInUser | null> | null = null;
  let found: SignedInUser | null = null;
  let sessionId: string | null = null;
  let service: TokenInUse | null = null;
  async function look(): Promise<SignedInUser | null> {
    if (origin.token === null) return null;
    if (isServiceToken(origin.token)) {
      service = await findServiceToken(parts, parts.database, origin.token);
      found = service?.user ?? null;
      return found;
    }
    const subject = await parts.accessTokens.verify(origin.token);
    if (subject === null) return null;
    found = await findSignedInUser(parts.database, subject, parts);
    if (found !== null) sessionId = subject.sessionId;
    return found;
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
    async serviceToken() {
      if (origin.token === null || !isServiceToken(origin.token)) return null;
      await viewer();
      return service;
    },
    known: () => found,
    sessionId: () => sessionId,
  };
}
