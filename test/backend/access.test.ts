import { describe, expect, test } from 'bun:test';
import { declaredAccess } from '../../src/backend/graphql/access.ts';
import { createSchema } from '../../src/backend/graphql/schema.ts';
import { useResource } from '../setup/use-resource.ts';
import { openBackend } from './backend-under-test.ts';
import { graphqlClient } from './graphql-client.ts';
import { documentOf, operationsOf, variablesOf } from './sample-operations.ts';

type Demand = 'anyone' | 'signedIn' | 'member' | 'companyAdmin' | 'superAdmin';

/** Who may call what, written down a second time: a new operation needs a row. */
const ACCESS: Readonly<Record<string, readonly Demand[]>> = {
  signUp: ['anyone'],
  login: ['anyone'],
  refreshSession: ['anyone'],
  logout: ['anyone'],
  requestPasswordReset: ['anyone'],
  resetPassword: ['anyone'],
  acceptInvitation: ['anyone'],
  whoAmI: ['signedIn'],
  sessions: ['signedIn'],
  endSession: ['signedIn'],
  changePassword: ['signedIn'],
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
  createApiKey: ['companyAdmin'],
  rotateApiKey: ['companyAdmin'],
  revokeApiKey: ['companyAdmin'],
  updateApiKeyLimits: ['companyAdmin'],
  auditLog: ['companyAdmin', 'superAdmin'],
  creditPacks: ['signedIn'],
  plans: ['signedIn'],
  subscription: ['member'],
  creditBalance: ['member'],
  usage: ['member'],
  usageFailures: ['member'],
  creditAlerts: ['companyAdmin'],
  alertSettings: ['companyAdmin'],
  setAlertSettings: ['companyAdmin'],
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
  errorGroups: ['superAdmin'],
  logEntries: ['superAdmin'],
  createTalent: ['member'],
  updateTalent: ['member'],
  eraseTalent: ['companyAdmin'],
  exportTalent: ['companyAdmin'],
  creditTransactions: ['companyAdmin'],
  creditStatement: ['companyAdmin'],
  invoices: ['companyAdmin'],
  creditPackPurchases: ['companyAdmin'],
  createCreditPackCheckout: ['companyAdmin'],
  createSubscriptionCheckout: ['companyAdmin'],
  createBillingPortalSession: ['companyAdmin'],
  createPlan: ['superAdmin'],
  createCreditPack: ['superAdmin'],
  syncAllPlansProviderPricing: ['superAdmin'],
  deactivateStaleSubscriptions: ['superAdmin'],
  paymentEvents: ['superAdmin'],
  replayPaymentEvent: ['superAdmin'],
  setAliasTargets: ['superAdmin'],
  setAliasPrice: ['superAdmin'],
  adjustCredits: ['superAdmin'],
  setCompanyBilling: ['superAdmin'],
  companies: ['superAdmin'],
  logStream: ['superAdmin'],
  capturedMails: ['superAdmin'],
};

const schema = createSchema();
const backend = useResource(() => openBackend());

describe('access to every operation', () => {
  for (const operation of operationsOf(schema).filter(({ kind }) => kind !== 'subscription')) {
    const { name, field } = operation;
    test(`P-14 ${name} is for those who may`, async () => {
      const demands = ACCESS[name];
      if (demands === undefined) throw new Error(`${name} has no row in ACCESS: say who may call it`);
      expect([...declaredAccess(field.extensions)].sort()).toEqual([...demands].sort());
      // Their own people for each operation: some of them leave the company by it.
      const [own, foreign] = [await backend.company('Own'), await backend.company('Foreign')];
      const has = (...rights: Demand[]) => rights.some((right) => demands.includes(right));
      const callers = [
        { who: 'nobody', client: graphqlClient(backend.fetch, null), may: has('anyone') },
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
        if (!may) expect([who, code]).toEqual([who, who === 'nobody' ? 'UNAUTHENTICATED' : 'FORBIDDEN']);
        else if (has('anyone')) expect([who, code]).not.toEqual([who, 'FORBIDDEN']);
        else expect(['UNAUTHENTICATED', 'FORBIDDEN', 'INTERNAL_SERVER_ERROR']).not.toContain(code);
      }
    });
  }

  test('P-14 ACCESS has no row for an operation that is gone', () => {
    const names = operationsOf(schema).map(({ name }) => name);
    expect(Object.keys(ACCESS).filter((name) => !names.includes(name))).toEqual([]);
  });

  test('P-15 targets of aliases are shown to super admins alone, and the keys in them to nobody', async () => {
    const { superAdmin, admin } = backend.people;
    const query = '{ modelAliases { alias targets { id } } }';
    const { errors } = await admin.answer(query);
    expect(errors?.[0]?.extensions.code).toBe('FORBIDDEN');
    expect(await superAdmin.ask(query)).toHaveProperty('modelAliases.0.targets', []);
  });
});
