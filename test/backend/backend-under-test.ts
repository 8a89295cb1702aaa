import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../src/adapters/shared-state/in-process.ts';
import { type BackendParts, createBackend } from '../../src/backend/server.ts';
import { addCompany } from '../../src/domain/accounts/company.ts';
import type { AccountMail } from '../../src/domain/accounts/mail-outbox.ts';
import type { SuspensionMail } from '../../src/domain/accounts/suspension.ts';
import { createAccessTokens } from '../../src/domain/accounts/tokens.ts';
import { addUser, type Role } from '../../src/domain/accounts/user.ts';
import type { ChannelMail } from '../../src/domain/alerts/dispatch.ts';
import { REDACTED_KINDS } from '../../src/domain/call-payloads/redaction.ts';
import { createAnswerCipher } from '../../src/domain/calls/idempotency/answer-cipher.ts';
import { createHeldCredits } from '../../src/domain/credits/holds/holds.ts';
import { createCompanyCounters } from '../../src/domain/limits/company-ceilings.ts';
import { createLogWatchers } from '../../src/domain/logs/live-log.ts';
import type { SummaryMail } from '../../src/domain/meetings/summary-text.ts';
import { createCipher } from '../../src/domain/models/cipher.ts';
import type { PlanRequestMail } from '../../src/domain/payments/assign-plan.ts';
import { createPaymentEvents } from '../../src/domain/payments/payment-events.ts';
import { createClientAddress } from '../../src/http/client-identity.ts';
import type { Database } from '../../src/ports/database.ts';
import type { JobData } from '../../src/ports/job-queue.ts';
import type { Secrets } from '../../src/ports/secrets.ts';
import { createAgreeingProvider } from '../doubles/agreeing-provider.ts';
import { createManualClock } from '../doubles/manual-clock.ts';
import { createRecordingLog } from '../doubles/recording-log.ts';
import { openTestDatabase } from '../doubles/test-database.ts';
import { noted } from '../setup/recent.ts';
import { type GraphqlClient, graphqlClient } from './graphql-client.ts';

export const JWT_SECRET = 'a secret for tests, of forty characters.';
export const PASSWORD = 'correct horse battery';

/** A logged-in user. `ask` and `refusal` are a client with their token. */
export interface Person extends GraphqlClient {
  readonly userId: string;
  readonly companyId: string | null;
  readonly email: string;
  readonly token: string;
}

const NO_QUEUES: BackendParts['queues'] = {
  depths: async () => [],
  deadLetters: async () => [],
  redrive: async () => 0,
  discard: async () => 0,
};

/** Every address is good, and every receiver answers 204. */
const ACCEPTING: BackendParts['alertRules']['webhooks'] = {
  addressProblem: async () => null,
  send: async () => {
    return { outcome: 'answered', status: 204, body: new Uint8Array(), isWhole: true, durationMs: 3 };
  },
};

/** What opens provider keys and stored prompts, and the bounds of the latter. */
function storedContent(secrets: Secrets) {
  const masterKeys = ['a master key of sufficient length'] as const;
  return {
    cipher: createCipher({ masterKeys, secrets }),
    answerCipher: createAnswerCipher({ masterKeys, secrets }),
    payloads: { retentionDays: 30, maxRetentionDays: 90, maxBytes: 65_536, redacts: REDACTED_KINDS },
  };
}

/** Takes every mail that people cause, and sends none. */
function createRecordingOutbox() {
  const mails: AccountMail[] = [];
  const planRequests: PlanRequestMail[] = [];
  const summaries: SummaryMail[] = [];
  const alertMails: ChannelMail[] = [];
  const suspensionMails: SuspensionMail[] = [];
  const mailOutbox: BackendParts['mailOutbox'] = {
    async send(mail) {
      if (mail.kind === 'meeting-summary') summaries.push(mail);
      else if (mail.kind === 'plan-request') planRequests.push(mail);
      else if (mail.kind === 'alert') alertMails.push(mail);
      else if (mail.kind === 'company-suspended' || mail.kind === 'company-resumed')
        suspensionMails.push(mail);
      else mails.push(mail);
      return { outcome: 'queued' };
    },
  };
  return { mailOutbox, mails, planRequests, summaries, alertMails, suspensionMails };
}

/**
 * The real backend on a database in memory, with a clock that the test moves, without a socket. `changes` replaces
 * parts of it, such as the database by PostgreSQL or a part of another capability by a double.
 */
export async function openBackend(changes: Partial<BackendParts> = {}) {
  const clock = createManualClock();
  const secrets = cheapPasswords();
  const { log, entries } = createRecordingLog();
  const ownDatabase = changes.database === undefined ? await openTestDatabase() : null;
  const database: Database = changes.database ?? (ownDatabase as Database);
  const state = () => createInProcessState({ clock, log });
  const [sharedState, ownState] = [state(), state()];
  const provider = changes.provider ?? createAgreeingProvider();
  const { mailOutbox, ...sent } = createRecordingOutbox();
  const queued: { readonly queue: string; readonly data: JobData }[] = [];
  const parts: BackendParts = {
    ...{ clock, databaseClock: clock, log, secrets, database, sharedState, ownState },
    counters: createCompanyCounters({ sharedState, ownState, clock, log }),
    accessTokens: await createAccessTokens([JWT_SECRET], clock),
    mailOutbox,
    jobQueue: { enqueue: async (queue, data) => String(queued.push({ queue, data })) },
    ...{ queues: NO_QUEUES, provider, approveHost: null, signUpMode: 'open' },
    alertRules: { webhooks: ACCEPTING, allowsHttp: false },
    paymentEvents: createPaymentEvents({
      ...{ database, sharedState: changes.sharedState ?? sharedState, provider, secrets, clock, log },
      mail: { send: async () => ({ outcome: 'duplicate' }) },
      pastDueGraceMs: 0,
    }),
    consoleUrl: 'https://console.example',
    providers: { send: () => Promise.reject(new Error('no provider is called in this test')) },
    draftPosting: async (text) => (text.includes('TIG') ? { mustHave: ['TIG'] } : {}),
    ...storedContent(secrets),
    heldCredits: createHeldCredits({ sharedState: changes.sharedState ?? sharedState, log }),
    logWatchers: createLogWatchers({ sharedState: changes.sharedState ?? sharedState, clock }),
    ...{ aliasPrefix: 'svc', requireSuperAdminTotp: false, trialCredits: 0 },
    checkoutTaxes: { isAutomatic: false, collectsTaxIds: false },
    clientAddress: createClientAddress([]),
    consoleOrigin: 'https://console.example',
    ...{ maxBodyBytes: 256 * 1024, requestsPerMinute: 0 },
    answerTimeoutMs: null,
    dependencies: async () => ({}),
    ...changes,
  };
  const app = createBackend(parts);
  const fetchApp = noted(
    async (request: Request, peerAddress: string = '192.0.2.1') => await app.fetch(request, { peerAddress }),
  );

  async function company(name: string): Promise<string> {
    const id = secrets.newId();
    await addCompany(database, { id, name, billingMode: 'PREPAID' });
    return id;
  }

  async function person(
    companyId: string | null,
    { role = 'MEMBER', isSuperAdmin = false }: { role?: Role; isSuperAdmin?: boolean } = {},
  ): Promise<Person> {
    const userId = secrets.newId();
    const email = `p${userId.replaceAll('-', '')}@people.example`;
    const user = { id: userId, companyId, email, password: PASSWORD, role, isSuperAdmin };
    const added = await addUser(database, parts.secrets, user);
    if (added.outcome !== 'added') throw new Error(added.outcome);
    const { token } = await parts.accessTokens.issue({ userId, email });
    return { userId, companyId, email, token, ...graphqlClient(fetchApp, token) };
  }

  const [acme, other] = [await company('Acme'), await company('Other')];
  return {
    app,
    parts,
    clock,
    database,
    /** What was logged, and the mails that were handed over for sending. */
    entries,
    ...sent,
    /** What was enqueued, as far as the test's own queue does not take it. */
    queued,
    fetch: fetchApp,
    company,
    person,
    companies: { acme, other },
    people: {
      anonymous: graphqlClient(fetchApp, null),
      member: await person(acme),
      admin: await person(acme, { role: 'COMPANY_ADMIN' }),
      otherAdmin: await person(other, { role: 'COMPANY_ADMIN' }),
      superAdmin: await person(null, { isSuperAdmin: true }),
    },
    async close(): Promise<void> {
      await ownDatabase?.close();
    },
  };
}

export type BackendUnderTest = Awaited<ReturnType<typeof openBackend>>;

/** argon2id takes 50 ms each time and is tested in its own place; here a hash only has to be one. */
function cheapPasswords() {
  const secrets = createSystemSecrets();
  const hashed = (password: string) => `cheap ${secrets.sha256(password).toHex()}`;
  return {
    ...secrets,
    hashPassword: async (password: string) => hashed(password),
    verifyPassword: async (password: string, hash: string | null) => hash === hashed(password),
  };
}
