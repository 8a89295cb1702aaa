import { beforeAll, describe, expect, test } from 'bun:test';
import { getNamedType } from 'graphql';
import { declaredAccess } from '../../src/backend/graphql/access.ts';
import { createSchema } from '../../src/backend/graphql/schema.ts';
import { openBackend, type Person } from '../backend/backend-under-test.ts';
import { graphqlClient } from '../backend/graphql-client.ts';
import { type MoneyOf, makeMoneyOf } from '../backend/money-of-a-company.ts';
import {
  documentOf,
  idPaths,
  operationsOf,
  type SampleOperation,
  variablesOf,
} from '../backend/sample-operations.ts';
import { useResource } from '../setup/use-resource.ts';

type Demand = 'anyone' | 'signedIn' | 'member' | 'companyAdmin' | 'superAdmin';

/** Who may call what, written down a second time: a new operation needs a row. */
const ACCESS: Readonly<Record<string, readonly Demand[]>> = {
  signUp: ['anyone'],
  login: ['anyone'],
  refreshSession: ['anyone'],
  logout: ['anyone'],
  requestPasswordReset: ['anyone'],
  resetPassword: ['anyone'],
  verifyEmail: ['anyone'],
  acceptInvitation: ['anyone'],
  whoAmI: ['signedIn'],
  sessions: ['signedIn'],
  endSession: ['signedIn'],
  endAllSessions: ['signedIn'],
  changePassword: ['signedIn'],
  resendVerification: ['signedIn'],
  beginTotp: ['signedIn'],
  confirmTotp: ['signedIn'],
  createRecoveryCodes: ['signedIn'],
  disableTotp: ['signedIn'],
  stepUp: ['signedIn'],
  resetTotp: ['superAdmin'],
  modelAliases: ['signedIn'],
  company: ['member'],
  members: ['member'],
  leaveCompany: ['member'],
  updateCompany: ['companyAdmin'],
  changeRole: ['companyAdmin'],
  removeMember: ['companyAdmin'],
  invitations: ['companyAdmin'],
  inviteMember: ['companyAdmin'],
  withdrawInvitation: ['companyAdmin'],
  apiKeys: ['companyAdmin'],
  apiKeyPage: ['companyAdmin'],
  createApiKey: ['companyAdmin'],
  rotateApiKey: ['companyAdmin'],
  revokeApiKey: ['companyAdmin'],
  updateApiKey: ['companyAdmin'],
  updateApiKeyLimits: ['companyAdmin'],
  clearCache: ['companyAdmin'],
  callPayload: ['companyAdmin'],
  erasePayloads: ['companyAdmin'],
  payloadSettings: ['companyAdmin'],
  setPayloadSettings: ['companyAdmin'],
  serviceTokens: ['companyAdmin'],
  serviceTokenScopes: ['companyAdmin'],
  createServiceToken: ['companyAdmin'],
  revokeServiceToken: ['companyAdmin'],
  auditLog: ['companyAdmin', 'superAdmin'],
  objectNames: ['companyAdmin', 'superAdmin'],
  creditPacks: ['signedIn'],
  creditPackTerms: ['signedIn'],
  plans: ['signedIn'],
  subscription: ['member'],
  creditBalance: ['member'],
  creditLots: ['member'],
  usage: ['member'],
  usageFailures: ['member'],
  calls: ['companyAdmin', 'superAdmin'],
  addressRefusals: ['superAdmin'],
  budgets: ['companyAdmin'],
  setBudget: ['companyAdmin'],
  deleteBudget: ['companyAdmin'],
  creditAlerts: ['companyAdmin'],
  alertSettings: ['companyAdmin'],
  setAlertSettings: ['companyAdmin'],
  alertChannels: ['companyAdmin', 'superAdmin'],
  alertEventKinds: ['companyAdmin', 'superAdmin'],
  alertDeliveries: ['companyAdmin', 'superAdmin'],
  createAlertChannel: ['companyAdmin', 'superAdmin'],
  updateAlertChannel: ['companyAdmin', 'superAdmin'],
  rotateAlertChannelSecret: ['companyAdmin', 'superAdmin'],
  deleteAlertChannel: ['companyAdmin', 'superAdmin'],
  testAlertChannel: ['companyAdmin', 'superAdmin'],
  jobs: ['member'],
  job: ['member'],
  createJob: ['member'],
  updateJob: ['member'],
  closeJob: ['member'],
  talents: ['member'],
  talent: ['member'],
  matches: ['member'],
  matchWeights: ['member'],
  setMatchWeights: ['companyAdmin'],
  matchGenerator: ['superAdmin'],
  startMatchGenerator: ['superAdmin'],
  stopMatchGenerator: ['superAdmin'],
  meetings: ['member'],
  meeting: ['member'],
  createMeeting: ['member'],
  addMeetingTranscript: ['member'],
  deleteMeetingTranscript: ['member'],
  linkMeeting: ['member'],
  meetingSummary: ['member'],
  mailMeetingSummary: ['member'],
  unannouncedMeetings: ['superAdmin'],
  serviceProcesses: ['superAdmin'],
  circuitBreakers: ['superAdmin'],
  resetCircuitBreaker: ['superAdmin'],
  workQueues: ['superAdmin'],
  deadLetters: ['superAdmin'],
  redriveDeadLetters: ['superAdmin'],
  deleteDeadLetters: ['superAdmin'],
  aiOperations: ['superAdmin'],
  aiOperationStats: ['superAdmin'],
  aiTargetStats: ['superAdmin'],
  errorGroups: ['superAdmin'],
  logEntries: ['superAdmin'],
  createTalent: ['member'],
  updateTalent: ['member'],
  acceptTalentProposal: ['member'],
  rejectTalentProposal: ['member'],
  mergeTalents: ['companyAdmin'],
  separateTalents: ['companyAdmin'],
  eraseTalent: ['companyAdmin'],
  exportTalent: ['companyAdmin'],
  exportTalentFile: ['companyAdmin'],
  creditTransactions: ['companyAdmin'],
  myCreditBalance: ['member'],
  userCreditTransactions: ['member'],
  grantUserCredits: ['companyAdmin'],
  creditStatement: ['companyAdmin'],
  invoices: ['companyAdmin'],
  creditPackPurchases: ['companyAdmin'],
  createCreditPackCheckout: ['companyAdmin'],
  createSubscriptionCheckout: ['companyAdmin'],
  createBillingPortalSession: ['companyAdmin'],
  previewSubscriptionChange: ['companyAdmin'],
  changeSubscriptionPlan: ['companyAdmin'],
  createPlan: ['superAdmin'],
  createCreditPack: ['superAdmin'],
  syncAllPlansProviderPricing: ['superAdmin'],
  rebuildPlanPricing: ['superAdmin'],
  updatePlan: ['superAdmin'],
  retirePlan: ['superAdmin'],
  updateCreditPack: ['superAdmin'],
  retireCreditPack: ['superAdmin'],
  deactivateStaleSubscriptions: ['superAdmin'],
  paymentEvents: ['superAdmin'],
  replayPaymentEvent: ['superAdmin'],
  replayPayments: ['superAdmin'],
  auditReport: ['superAdmin'],
  startAudit: ['superAdmin'],
  margins: ['superAdmin'],
  withheldUsage: ['superAdmin'],
  postWithheldUsage: ['superAdmin'],
  dropWithheldUsage: ['superAdmin'],
  ownProviderKeys: ['companyAdmin'],
  ownProviderKeyOptions: ['companyAdmin'],
  setOwnProviderKey: ['companyAdmin'],
  deleteOwnProviderKey: ['companyAdmin'],
  testOwnProviderKey: ['companyAdmin'],
  knownModels: ['superAdmin'],
  createModelAlias: ['superAdmin'],
  updateModelAlias: ['superAdmin'],
  retireModelAlias: ['superAdmin'],
  setAliasTargets: ['superAdmin'],
  testAliasTarget: ['superAdmin'],
  providerPresets: ['superAdmin'],
  setAliasTools: ['superAdmin'],
  hostedTools: ['superAdmin'],
  setAliasPrice: ['superAdmin'],
  adjustCredits: ['superAdmin'],
  setCompanyBilling: ['superAdmin'],
  assignPlan: ['superAdmin'],
  requestPlan: ['companyAdmin'],
  setCompanyCeilings: ['superAdmin'],
  suspendCompany: ['superAdmin'],
  resumeCompany: ['superAdmin'],
  companyCeilings: ['superAdmin'],
  companies: ['superAdmin'],
  logStream: ['superAdmin'],
  capturedMails: ['superAdmin'],
  callHookDeliveries: ['superAdmin'],
};

const schema = createSchema();

/** Things of another company, by what they are. */
interface ForeignThings extends MoneyOf {
  readonly companyId: string;
  readonly userId: string;
  readonly keyId: string;
  readonly invitationId: string;
  readonly sessionId: string;
  readonly jobId: string;
  readonly talentId: string;
  readonly meetingId: string;
  readonly serviceTokenId: string;
  readonly alertChannelId: string;
  readonly ownKeyId: string;
  readonly budgetId: string;
}

const PEOPLE_TABLES = [
  'companies',
  'users',
  'api_keys',
  'service_tokens',
  'invitations',
  'sessions',
  'audit_log',
  'jobs',
  'talents',
  'meetings',
  'alert_channels',
  'alert_deliveries',
];
const MONEY_TABLES = [
  'credit_accounts',
  'invoices',
  'plans',
  'credit_packs',
  'credit_pack_purchases',
  'subscriptions',
  'provider_events',
  'budgets',
];

/** Lists that ids narrow: those of another company show nothing, as the test of lists says. */
const NARROWED = new Set(['apiKeyPage', 'objectNames']);

/** Over HTTP; the one subscription, of super admins, is refused to others in live-logs.test.ts. */
const withIds = operationsOf(createSchema()).filter(
  ({ kind, name: operation, field }) =>
    kind !== 'subscription' &&
    !NARROWED.has(operation) &&
    field.args.some(({ name, type }) => name !== 'after' && getNamedType(type).name === 'ID'),
);

const backend = useResource(() => openBackend());

describe('access to every operation', () => {
  for (const operation of operationsOf(schema).filter(({ kind }) => kind !== 'subscription')) {
    const { name, field } = operation;
    test(`P-14 ${name} is allowed for its roles alone`, async () => {
      const demands = ACCESS[name];
      if (demands === undefined) throw new Error(`${name} has no row in ACCESS: say who may call it`);
      expect([...declaredAccess(field.extensions)].sort()).toEqual([...demands].sort());
      // Their own people for each operation: some of them leave the company by it.
      const [own, foreign] = [await backend.company('Own'), await backend.company('Foreign')];
      const has = (...rights: Demand[]) => rights.some((right) => demands.includes(right));
      const callers = [
        { who: 'anonymous', client: graphqlClient(backend.fetch, null), may: has('anyone') },
        {
          who: 'member',
          client: await backend.person(own),
          may: has('anyone', 'signedIn', 'member'),
        },
        {
          who: 'company admin',
          client: await backend.person(own, { role: 'COMPANY_ADMIN' }),
          may: has('anyone', 'signedIn', 'member', 'companyAdmin'),
        },
        {
          who: 'admin of another company',
          client: await backend.person(foreign, { role: 'COMPANY_ADMIN' }),
          may: has('anyone', 'signedIn', 'member', 'companyAdmin'),
        },
        {
          who: 'super admin',
          client: await backend.person(null, { isSuperAdmin: true }),
          may: has('anyone', 'signedIn', 'superAdmin'),
        },
      ];
      for (const { who, client, may } of callers) {
        const { errors } = await client.answer(documentOf(operation), variablesOf(operation));
        const code = errors?.[0]?.extensions.code ?? 'none';
        if (!may) expect([who, code]).toEqual([who, who === 'anonymous' ? 'UNAUTHENTICATED' : 'FORBIDDEN']);
        else if (has('anyone')) expect([who, code]).not.toEqual([who, 'FORBIDDEN']);
        else expect(['UNAUTHENTICATED', 'FORBIDDEN', 'INTERNAL_SERVER_ERROR']).not.toContain(code);
      }
    });
  }

  test('P-14 ACCESS has no row for a removed operation', () => {
    const names = operationsOf(schema).map(({ name }) => name);
    expect(Object.keys(ACCESS).filter((name) => !names.includes(name))).toEqual([]);
  });

  test('P-15 targets of aliases are shown only to super admins, and their keys to no one', async () => {
    const { superAdmin, admin } = backend.people;
    const query = '{ modelAliases { alias targets { id } } }';
    const { errors } = await admin.answer(query);
    expect(errors?.[0]?.extensions.code).toBe('FORBIDDEN');
    expect(await superAdmin.ask(query)).toHaveProperty('modelAliases.0.targets', []);
  });
});

describe('objects of another company', () => {
  /** Every operation that takes an id: which arguments name another company's thing. A new operation needs a row. */
  const ROWS: Readonly<Record<string, (things: ForeignThings) => Readonly<Record<string, string>>>> = {
    endSession: ({ sessionId }) => ({ id: sessionId }),
    changeRole: ({ userId }) => ({ userId }),
    removeMember: ({ userId }) => ({ userId }),
    resetTotp: ({ userId }) => ({ userId }),
    withdrawInvitation: ({ invitationId }) => ({ id: invitationId }),
    rotateApiKey: ({ keyId }) => ({ id: keyId }),
    revokeApiKey: ({ keyId }) => ({ id: keyId }),
    deleteBudget: ({ budgetId }) => ({ id: budgetId }),
    updateApiKey: ({ keyId }) => ({ id: keyId }),
    updateApiKeyLimits: ({ keyId }) => ({ id: keyId }),
    job: ({ jobId }) => ({ id: jobId }),
    talent: ({ talentId }) => ({ id: talentId }),
    meeting: ({ meetingId }) => ({ id: meetingId }),
    updateJob: ({ jobId }) => ({ id: jobId }),
    closeJob: ({ jobId }) => ({ id: jobId }),
    updateTalent: ({ talentId }) => ({ id: talentId }),
    acceptTalentProposal: ({ talentId }) => ({ id: talentId }),
    rejectTalentProposal: ({ talentId }) => ({ id: talentId }),
    matches: ({ jobId }) => ({ jobId }),
    addMeetingTranscript: ({ meetingId }) => ({ meetingId }),
    deleteMeetingTranscript: ({ meetingId }) => ({ meetingId }),
    linkMeeting: ({ meetingId }) => ({ meetingId }),
    meetingSummary: ({ meetingId }) => ({ meetingId }),
    mailMeetingSummary: ({ meetingId }) => ({ meetingId }),
    eraseTalent: ({ talentId }) => ({ id: talentId }),
    mergeTalents: ({ talentId }) => ({ id: talentId, into: talentId }),
    separateTalents: ({ talentId }) => ({ id: talentId, from: talentId }),
    exportTalent: ({ talentId }) => ({ id: talentId }),
    exportTalentFile: ({ talentId, keyId }) => ({ talentId, fileId: keyId }),
    revokeServiceToken: ({ serviceTokenId }) => ({ id: serviceTokenId }),
    deleteOwnProviderKey: ({ ownKeyId }) => ({ id: ownKeyId }),
    auditLog: ({ companyId }) => ({ companyId }),
    createCreditPackCheckout: ({ keyId }) => ({ creditPackId: keyId }),
    createSubscriptionCheckout: ({ keyId }) => ({ planId: keyId }),
    previewSubscriptionChange: ({ keyId }) => ({ planId: keyId }),
    changeSubscriptionPlan: ({ keyId }) => ({ planId: keyId }),
    rebuildPlanPricing: ({ keyId }) => ({ planIds: keyId }),
    updatePlan: ({ keyId }) => ({ id: keyId }),
    retirePlan: ({ keyId }) => ({ id: keyId }),
    updateCreditPack: ({ keyId }) => ({ id: keyId }),
    retireCreditPack: ({ keyId }) => ({ id: keyId }),
    replayPaymentEvent: ({ purchaseId }) => ({ id: purchaseId }),
    postWithheldUsage: ({ purchaseId }) => ({ id: purchaseId }),
    dropWithheldUsage: ({ purchaseId }) => ({ id: purchaseId }),
    redriveDeadLetters: ({ jobId }) => ({ ids: jobId }),
    deleteDeadLetters: ({ jobId }) => ({ ids: jobId }),
    adjustCredits: ({ companyId }) => ({ companyId }),
    creditStatement: ({ userId }) => ({ userId }),
    userCreditTransactions: ({ userId }) => ({ userId }),
    grantUserCredits: ({ userId }) => ({ userId }),
    setCompanyBilling: ({ companyId }) => ({ companyId }),
    assignPlan: ({ companyId, keyId }) => ({ companyId, planId: keyId }),
    requestPlan: ({ keyId }) => ({ planId: keyId }),
    setCompanyCeilings: ({ companyId }) => ({ companyId }),
    suspendCompany: ({ companyId }) => ({ id: companyId }),
    resumeCompany: ({ companyId }) => ({ id: companyId }),
    companyCeilings: ({ companyId }) => ({ companyId }),
    logEntries: ({ companyId }) => ({ companyId }),
    alertDeliveries: ({ alertChannelId }) => ({ channelId: alertChannelId }),
    updateAlertChannel: ({ alertChannelId }) => ({ id: alertChannelId }),
    rotateAlertChannelSecret: ({ alertChannelId }) => ({ id: alertChannelId }),
    deleteAlertChannel: ({ alertChannelId }) => ({ id: alertChannelId }),
    testAlertChannel: ({ alertChannelId }) => ({ id: alertChannelId }),
  };

  let things: ForeignThings;
  let stranger: Person;

  beforeAll(async () => {
    const { otherAdmin, admin } = backend.people;
    stranger = admin;
    type Id = { id: string };
    type Made = {
      createApiKey: { apiKey: Id };
      inviteMember: Id;
      createJob: Id;
      createTalent: Id;
      createMeeting: Id;
    };
    type Token = {
      createServiceToken: { serviceToken: Id };
      createAlertChannel: { alertChannel: Id };
      setBudget: Id;
    };
    const made = await otherAdmin.ask<Made>(`mutation {
    createApiKey(input: { name: "theirs" }) { apiKey { id } }
    inviteMember(email: "guest@other.example") { id }
    createJob(input: { title: "theirs" }) { id }
    createTalent(input: { text: "Somebody, welder" }) { id }
    createMeeting(input: { room: "theirs" }) { id } }`);
    const { createServiceToken, createAlertChannel, setBudget } = await otherAdmin.ask<Token>(`mutation {
    setBudget(input: { scope: END_USER, subject: "theirs", monthlyCredits: 5 }) { id }
    createServiceToken(name: "theirs", scopes: ["keys:read"]) { serviceToken { id } }
    createAlertChannel(input: { kind: WEBHOOK, name: "theirs", address: "https://theirs.example" }) { alertChannel { id } } }`);
    await backend.people.anonymous.ask(
      'mutation($email: String!) { login(email: $email, password: "correct horse battery") { expiresAt } }',
      { email: otherAdmin.email },
    );
    const { sessions } = await otherAdmin.ask<{ sessions: { id: string }[] }>('{ sessions { id } }');
    things = {
      companyId: backend.companies.other,
      userId: otherAdmin.userId,
      keyId: made.createApiKey.apiKey.id,
      invitationId: made.inviteMember.id,
      sessionId: sessions[0]?.id ?? '',
      jobId: made.createJob.id,
      talentId: made.createTalent.id,
      meetingId: made.createMeeting.id,
      serviceTokenId: createServiceToken.serviceToken.id,
      alertChannelId: createAlertChannel.alertChannel.id,
      ownKeyId: await storedOwnKey(backend.companies.other),
      budgetId: setBudget.id,
      ...(await makeMoneyOf(backend, backend.companies.other)),
    };
  });

  async function storedOwnKey(companyId: string): Promise<string> {
    const [row] = await backend.database.query<{ id: string }>(
      `insert into own_provider_keys (id, company_id, alias, origin, sealed_key, last_four, created_at, changed_at)
       values (gen_random_uuid(), $1, 'chat-default', 'https://one.example', 'sealed', '', now(), now()) returning id`,
      [companyId],
    );
    return row?.id ?? '';
  }

  /** Everything but the attempts to get in, as one text. */
  async function everythingOfTheOthers(): Promise<string> {
    const tables = [...PEOPLE_TABLES, ...MONEY_TABLES];
    const rows = await Promise.all(
      tables.map((table) => backend.database.query(`select to_jsonb(t) as row from ${table} t order by id`)),
    );
    return JSON.stringify(rows);
  }

  for (const operation of withIds) {
    const demands = declaredAccess(operation.field.extensions);
    // What only super admins may call is refused before its ids are looked at.
    const code = demands.every((demand) => demand === 'superAdmin') ? 'FORBIDDEN' : 'NOT_FOUND';
    test(`P-15 ${operation.name} with another company's id is ${code}, and nothing is changed`, async () => {
      const row = ROWS[operation.name];
      if (row === undefined) throw new Error(`${operation.name} takes an id and has no row in ROWS`);
      const before = await everythingOfTheOthers();
      const variables = variablesOf(operation, row(things));
      const answered = await stranger.answer(documentOf(operation), variables);
      expect(answered.errors?.map(({ extensions }) => extensions.code)).toEqual([code]);
      expect(answered.data ?? null).toBeNull();
      expect(await everythingOfTheOthers()).toBe(before);
      // The same words as for what never existed: the answer does not tell that there is such a thing.
      const never = variablesOf(
        operation,
        Object.fromEntries(
          Object.keys(row(things)).map((name) => [name, '019a0000-0000-7000-8000-00000000dead']),
        ),
      );
      const unknown = await stranger.answer(documentOf(operation), never);
      expect(unknown.errors?.[0]?.message).toBe(answered.errors?.[0]?.message as string);
    });
  }

  /** What a place of an id needs beside it, so that the id is looked at. */
  const BESIDE: Readonly<Record<string, object>> = {
    'createApiKey input.payerUserId': { 'input.payer': 'USER' },
    'setBudget input.subject': { 'input.scope': 'KEY' },
  };
  const inTexts = { setBudget: ['input.subject'], callPayload: ['requestId'] };

  /** The answer without the id: what is left says whether there is such a thing. */
  async function answerTo(operation: SampleOperation, path: string, id: string): Promise<string> {
    const chosen = { ...BESIDE[`${operation.name} ${path}`], [path]: id };
    const { data, errors } = await stranger.answer(documentOf(operation), variablesOf(operation, chosen));
    const shown = errors?.map(({ message, extensions }) => ({ message, extensions }));
    return JSON.stringify({ data, errors: shown }).replaceAll(id, 'ID');
  }

  test('P-15 ids in inputs, second arguments, cursors and texts are answered as those that do not exist', async () => {
    let places = 0;
    for (const operation of operationsOf(schema)) {
      const demands = declaredAccess(operation.field.extensions);
      const isOperators = demands.every((demand) => demand === 'superAdmin');
      if (isOperators || operation.kind === 'subscription') continue;
      const tried = Object.keys(ROWS[operation.name]?.(things) ?? {});
      const texts = Object.entries(inTexts).flatMap(([name, paths]) =>
        name === operation.name ? paths : [],
      );
      for (const path of [...idPaths(operation), ...texts].filter((one) => !tried.includes(one))) {
        places += 1;
        const unknown = await answerTo(operation, path, '019a0000-0000-7000-8000-00000000dead');
        // A cursor is a place in an order: what stands there makes no difference.
        const kinds = path === 'after' ? { keyId: things.keyId } : things;
        for (const [kind, id] of Object.entries(kinds)) {
          const answered = await answerTo(operation, path, id);
          expect([operation.name, path, kind, answered]).toEqual([operation.name, path, kind, unknown]);
        }
      }
    }
    expect(places).toBeGreaterThan(20);
  });

  test('P-15 lists show a company only its own objects', async () => {
    const lists = `{ company { id } members { nodes { id } } apiKeys { id } apiKeyPage { nodes { id } } budgets { id } serviceTokens { id } ownProviderKeys { id } invitations { nodes { id } } sessions { id }
      jobs { nodes { id } } talents { nodes { id } } meetings { nodes { id } } auditLog(first: 100) { nodes { companyId objectId } }
      creditTransactions { nodes { source } } invoices { nodes { id } } subscription { id plan { name } }
      creditPackPurchases { nodes { id creditPack { name } } } alertChannels { id } }`;
    const shown = JSON.stringify(await stranger.ask(lists));
    for (const foreign of Object.values(things)) expect(shown).not.toContain(foreign);
    const own = JSON.stringify(await backend.people.otherAdmin.ask(lists));
    for (const theirs of Object.values(things)) expect(own).toContain(theirs);
    const narrowed = 'query($ids: [ID!]) { apiKeyPage(ids: $ids) { nodes { id } } }';
    const ids = [things.keyId];
    expect(await stranger.ask(narrowed, { ids })).toEqual({ apiKeyPage: { nodes: [] } });
    expect(await backend.people.otherAdmin.ask(narrowed, { ids })).toEqual({
      apiKeyPage: { nodes: [{ id: things.keyId }] },
    });
    // Names by ids: their own in full; to other companies none, and to operators no job and no talent.
    const named = 'query($ids: [ID!]!) { objectNames(ids: $ids) { id kind name } }';
    const all = { ids: Object.values(things) };
    type Names = { objectNames: { id: string; kind: string; name: string }[] };
    const kindsFor = async ({ ask }: Person) =>
      (await ask<Names>(named, all)).objectNames.map(({ kind }) => kind).sort();
    expect(await kindsFor(backend.people.otherAdmin)).toEqual(
      expect.arrayContaining(['api-key', 'company', 'job', 'user']),
    );
    expect(await kindsFor(stranger)).toEqual(
      expect.not.arrayContaining(['api-key', 'company', 'job', 'user']),
    );
    expect(JSON.stringify(await stranger.ask(named, all))).not.toContain('theirs');
    expect(await kindsFor(backend.people.superAdmin)).toEqual(
      expect.not.arrayContaining(['job', 'talent', 'meeting']),
    );
    const many = { ids: Array.from({ length: 101 }, () => things.keyId) };
    expect((await stranger.refusal(named, many)).extensions.code).toBe('BAD_USER_INPUT');
  });
});
