import type { BillingMode, Company } from '../../domain/accounts/company.ts';
import type { LiveSession } from '../../domain/accounts/end-sessions.ts';
import type { Invitation } from '../../domain/accounts/invitations.ts';
import type { SessionTokens } from '../../domain/accounts/session.ts';
import type { Role, User } from '../../domain/accounts/user.ts';
import type { AuditEntry } from '../../domain/audit/audit-log.ts';
import type {
  CountedFailures,
  FailedCall,
  FailureGroup,
  FailureOutcome,
  FailuresQuestion,
} from '../../domain/calls/usage-failures.ts';
import type { UsageDimension, UsageGroup, UsageTotals } from '../../domain/calls/usage-report.ts';
import type { CreditPack } from '../../domain/catalog/credit-pack.ts';
import type { BillingInterval, Plan } from '../../domain/catalog/plan.ts';
import type { AlertSettings } from '../../domain/credits/alert-settings.ts';
import type { CompanyBalance } from '../../domain/credits/company-balance.ts';
import type { StandingWord } from '../../domain/credits/company-standing.ts';
import type { Invoice, InvoiceKind, InvoiceStatus } from '../../domain/credits/invoice.ts';
import type { AlertKind, RaisedAlert } from '../../domain/credits/list-alerts.ts';
import type { CreditTransaction } from '../../domain/credits/list-transactions.ts';
import type { TransactionType } from '../../domain/credits/post-transaction.ts';
import type { Job, JobParsing, JobStatus } from '../../domain/jobs/job.ts';
import type { JobVersion } from '../../domain/jobs/write-version.ts';
import type { ApiKey, KeyStatus } from '../../domain/keys/api-key.ts';
import type { MatchPart } from '../../domain/matching/explain-pair.ts';
import type { GeneratorState, GeneratorStatus } from '../../domain/matching/generator-board.ts';
import type { Match } from '../../domain/matching/list-matches.ts';
import type { Meeting } from '../../domain/meetings/meeting.ts';
import type { AliasName } from '../../domain/models/aliases.ts';
import type { AliasPrice } from '../../domain/models/prices.ts';
import type { StoredTarget } from '../../domain/models/stored-targets.ts';
import type { OperationCount } from '../../domain/operations/count-operations.ts';
import type { ErrorGroup } from '../../domain/operations/error-groups.ts';
import type { AiOperation } from '../../domain/operations/list-operations.ts';
import type { OpenedPage } from '../../domain/payments/checkout-parts.ts';
import type { PaymentEvent, PaymentEventStatus } from '../../domain/payments/payment-event.ts';
import type { CreditPackPurchase, PurchaseStatus } from '../../domain/payments/purchase.ts';
import type { JobRate, ReadinessPart, ServiceProcess } from '../../domain/processes/process-report.ts';
import type { Subscription, SubscriptionStatus } from '../../domain/subscriptions/subscription.ts';
import type { Talent, TalentStatus } from '../../domain/talents/talent.ts';
import type { TalentVersion } from '../../domain/talents/talent-history.ts';
import type { DeadLetter, QueueDepth } from '../../ports/job-queue.ts';
import type { LogEntry, LogLevel } from '../../ports/log.ts';
import type { CapturedHead } from '../../ports/mail.ts';
import type { AiService } from './ai-services.ts';
import type { Page } from './paging.ts';

/**
 * What stands behind each name of the schema. Resolvers name types by these names, so that no file has to import
 * another one's declaration: a new object is a row here, a file in objects/ and a line in objects.ts.
 */
export interface SchemaObjects {
  WhoAmI: User;
  Session: SessionTokens;
  LiveSession: LiveSession;
  Member: User;
  MemberConnection: Page<User>;
  Invitation: Invitation;
  InvitationConnection: Page<Invitation>;
  ApiKey: ApiKey;
  MintedApiKey: { readonly rawKey: string; readonly apiKey: ApiKey };
  ModelAlias: { readonly alias: string; readonly name: AliasName; readonly kind: string };
  AliasTarget: StoredTarget;
  AliasPrice: AliasPrice;
  CreditBalance: CompanyBalance;
  CreditTransaction: CreditTransaction;
  CreditTransactionConnection: Page<CreditTransaction>;
  Invoice: Invoice;
  InvoiceConnection: Page<Invoice>;
  UsageTotals: UsageTotals;
  UsageRow: UsageGroup;
  UsageReport: { readonly totals: UsageTotals; readonly rows: readonly UsageGroup[] };
  UsageFailures: CountedFailures & { readonly question: Omit<FailuresQuestion, 'by'> };
  UsageFailureRow: FailureGroup;
  FailedCall: FailedCall;
  CreditAlert: RaisedAlert;
  AlertSettings: AlertSettings;
  AuditEntry: AuditEntry;
  AuditEntryConnection: Page<AuditEntry>;
  Company: Company;
  CompanyConnection: Page<Company>;
  Plan: Plan;
  CreditPackOutput: CreditPack;
  CreditPackPurchase: CreditPackPurchase;
  CreditPackPurchaseConnection: Page<CreditPackPurchase>;
  CheckoutSession: OpenedPage & { readonly purchaseId: string | null };
  BillingPortalSession: { readonly url: string };
  PlanSubscription: Subscription;
  PaymentEvent: PaymentEvent;
  PaymentEventConnection: Page<PaymentEvent>;
  LogEntry: LogEntry;
  LogEntryConnection: Page<LogEntry>;
  ServiceProcess: ServiceProcess;
  ReadinessPart: ReadinessPart;
  CircuitBreaker: AiService;
  WorkQueue: QueueDepth & JobRate & { readonly processes: number };
  DeadLetter: DeadLetter;
  DeadLetterConnection: Page<DeadLetter>;
  AiOperation: AiOperation;
  AiOperationConnection: Page<AiOperation>;
  AiOperationStats: OperationCount;
  ErrorGroup: ErrorGroup;
  CapturedMail: CapturedHead;
  CapturedMailConnection: Page<CapturedHead>;
  Job: Job;
  JobConnection: Page<Job>;
  JobVersion: JobVersion;
  Talent: Talent;
  TalentConnection: Page<Talent>;
  TalentVersion: TalentVersion;
  Match: Match;
  MatchConnection: Page<Match>;
  MatchPart: MatchPart;
  MatchWeight: { readonly part: string; readonly weight: number };
  MatchGenerator: GeneratorStatus & {
    readonly totalProcessed: number;
    readonly totalErrors: number;
    readonly throughputPerMinute: number;
    readonly lastProcessedAt: Date | null;
    readonly processes: number;
  };
  Meeting: Meeting;
  MeetingConnection: Page<Meeting>;
  PageInfo: Pick<Page<never>, 'hasNextPage' | 'endCursor'>;
}

/** The value behind a scalar or an enumeration is the same on its way in and out. */
interface Named<Value> {
  readonly Input: Value;
  readonly Output: Value;
}

/** Scalars, and the enumerations, which the builder knows by name only if they stand here too. */
export type SchemaScalars = {
  ID: Named<string>;
  DateTime: Named<Date>;
  JSON: Named<unknown>;
  BillingMode: Named<BillingMode>;
  Role: Named<Role>;
  ApiKeyStatus: Named<KeyStatus>;
  CreditTransactionType: Named<TransactionType>;
  InvoiceStatus: Named<InvoiceStatus>;
  InvoiceKind: Named<InvoiceKind>;
  UsageGroup: Named<UsageDimension>;
  FailureOutcome: Named<FailureOutcome>;
  CreditAlertKind: Named<AlertKind>;
  LogLevel: Named<LogLevel>;
  BillingInterval: Named<BillingInterval>;
  PurchaseStatus: Named<PurchaseStatus>;
  SubscriptionStatus: Named<SubscriptionStatus>;
  PaymentEventStatus: Named<PaymentEventStatus>;
  JobStatus: Named<JobStatus>;
  JobParsing: Named<JobParsing>;
  TalentStatus: Named<TalentStatus>;
  GeneratorState: Named<GeneratorState>;
  CompanyStanding: Named<StandingWord>;
  ReadinessStatus: Named<ReadinessPart['status']>;
  BreakerState: Named<AiService['state']>;
  OperationOutcome: Named<OperationCount['outcome']>;
};
