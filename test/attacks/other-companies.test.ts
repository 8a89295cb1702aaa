import { beforeAll, describe, expect, test } from 'bun:test';
import { declaredAccess } from '../../src/backend/graphql/access.ts';
import { createSchema } from '../../src/backend/graphql/schema.ts';
import { openBackend, type Person } from '../backend/backend-under-test.ts';
import { graphqlClient } from '../backend/graphql-client.ts';
import { makeMoneyOf } from '../backend/money-of-a-company.ts';
import {
  documentOf,
  idPaths,
  operationsOf,
  type SampleOperation,
  variablesOf,
} from '../backend/sample-operations.ts';
import { useResource } from '../setup/use-resource.ts';

type Demand = 'anyone' | 'signedIn' | 'member' | 'companyAdmin' | 'superAdmin';

/** Who may call what, written down a second time. An operation without a row is for super admins alone. */
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
  meetings: ['member'],
  meeting: ['member'],
  createMeeting: ['member'],
  addMeetingTranscript: ['member'],
  deleteMeetingTranscript: ['member'],
  linkMeeting: ['member'],
  meetingSummary: ['member'],
  mailMeetingSummary: ['member'],
  createTalent: ['member'],
  updateTalent: ['member'],
  acceptTalentProposal: ['member'],
  rejectTalentProposal: ['member'],
  mergeTalents: ['companyAdmin'],
  separateTalents: ['companyAdmin'],
  eraseTalent: ['companyAdmin'],
  exportTalent: ['companyAdmin'],
  exportTalentFile: ['companyAdmin'],
  creditTransactions: ['companyAdmin', 'superAdmin'],
  myCreditBalance: ['member'],
  userCreditTransactions: ['member'],
  grantUserCredits: ['companyAdmin'],
  creditStatement: ['companyAdmin', 'superAdmin'],
  invoices: ['companyAdmin'],
  creditPackPurchases: ['companyAdmin'],
  createCreditPackCheckout: ['companyAdmin'],
  createSubscriptionCheckout: ['companyAdmin'],
  createBillingPortalSession: ['companyAdmin'],
  previewSubscriptionChange: ['companyAdmin'],
  changeSubscriptionPlan: ['companyAdmin'],
  ownProviderKeys: ['companyAdmin'],
  ownProviderKeyOptions: ['companyAdmin'],
  setOwnProviderKey: ['companyAdmin'],
  deleteOwnProviderKey: ['companyAdmin'],
  testOwnProviderKey: ['companyAdmin'],
  requestPlan: ['companyAdmin'],
};

const schema = createSchema();

/** Lists that ids narrow: those of another company show nothing, as the test of lists says. */
const NARROWED = new Set(['apiKeyPage', 'objectNames']);

/** What only super admins may call is refused to others before its ids are looked at. */
const isForOperators = ({ field }: SampleOperation) =>
  declaredAccess(field.extensions).every((demand) => demand === 'superAdmin');

const backend = useResource(() => openBackend());

describe('access to every operation', () => {
  for (const operation of operationsOf(schema).filter(({ kind }) => kind !== 'subscription')) {
    const { name, field } = operation;
    test(`P-14 ${name} is allowed for its roles alone`, async () => {
      const demands = ACCESS[name] ?? ['superAdmin'];
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
  /** Ids of another company, by what they are of. */
  let things: Readonly<Record<string, string>>;
  let before = '';
  let stranger: Person;

  beforeAll(async () => {
    const { otherAdmin, admin } = backend.people;
    stranger = admin;
    type Id = { id: string };
    const made = await otherAdmin.ask<Record<string, Id>>(`mutation {
      inviteMember(email: "guest@other.example") { id }
      createJob(input: { title: "theirs" }) { id }
      createTalent(input: { text: "Somebody, welder" }) { id }
      createMeeting(input: { room: "theirs" }) { id }
      setBudget(input: { scope: END_USER, subject: "theirs", monthlyCredits: 5 }) { id } }`);
    const { key, token, channel } = await otherAdmin.ask<
      Record<'key', { apiKey: Id }> &
        Record<'token', { serviceToken: Id }> &
        Record<'channel', { alertChannel: Id }>
    >(`mutation {
      key: createApiKey(input: { name: "theirs" }) { apiKey { id } }
      token: createServiceToken(name: "theirs", scopes: ["keys:read"]) { serviceToken { id } }
      channel: createAlertChannel(input: { kind: WEBHOOK, name: "theirs", address: "https://theirs.example" }) { alertChannel { id } } }`);
    await backend.people.anonymous.ask(
      'mutation($email: String!) { login(email: $email, password: "correct horse battery") { expiresAt } }',
      { email: otherAdmin.email },
    );
    const { sessions } = await otherAdmin.ask<{ sessions: { id: string }[] }>('{ sessions { id } }');
    things = {
      companyId: backend.companies.other,
      userId: otherAdmin.userId,
      keyId: key.apiKey.id,
      sessionId: sessions[0]?.id ?? '',
      serviceTokenId: token.serviceToken.id,
      alertChannelId: channel.alertChannel.id,
      ownKeyId: await storedOwnKey(backend.companies.other),
      ...Object.fromEntries(Object.entries(made).map(([name, { id }]) => [name, id])),
      ...(await makeMoneyOf(backend, backend.companies.other)),
    };
    before = await everythingOfTheOthers();
  });

  async function storedOwnKey(companyId: string): Promise<string> {
    const [row] = await backend.database.query<{ id: string }>(
      `insert into own_provider_keys (id, company_id, alias, origin, sealed_key, last_four, created_at, changed_at)
       values (gen_random_uuid(), $1, 'chat-default', 'https://one.example', 'sealed', '', now(), now()) returning id`,
      [companyId],
    );
    return row?.id ?? '';
  }

  /** Every row of the other company, as one text. */
  async function everythingOfTheOthers(): Promise<string> {
    const { database, companies } = backend;
    const tables = await database.query<{ name: string }>(
      `select table_name as name from information_schema.columns join information_schema.tables using (table_name)
       where column_name = 'company_id' and table_type = 'BASE TABLE' order by table_name`,
    );
    const rows = [
      await database.query('select to_jsonb(t) as row from companies t where id = $1', [companies.other]),
    ];
    for (const { name } of tables) {
      const query = `select to_jsonb(t)::text as row from ${name} t where company_id::text = $1 order by 1`;
      rows.push(await database.query(query, [companies.other]));
    }
    return JSON.stringify(rows);
  }

  /** What a place of an id needs beside it, so that the id is looked at. */
  const BESIDE: Readonly<Record<string, object>> = {
    'createApiKey input.payerUserId': { 'input.payer': 'USER' },
    'setBudget input.subject': { 'input.scope': 'KEY' },
  };
  const IN_TEXTS: Readonly<Record<string, readonly string[]>> = {
    setBudget: ['input.subject'],
    callPayload: ['requestId'],
  };

  /** The answer without the id: what is left says whether there is such a thing. */
  async function answerTo(operation: SampleOperation, path: string, id: string): Promise<string> {
    const chosen = { ...BESIDE[`${operation.name} ${path}`], [path]: id };
    const { data, errors } = await stranger.answer(documentOf(operation), variablesOf(operation, chosen));
    const shown = errors?.map(({ message, extensions }) => ({ message, extensions }));
    return JSON.stringify({ data, errors: shown }).replaceAll(id, 'ID');
  }

  for (const operation of operationsOf(schema).filter((one) => !isForOperators(one))) {
    const paths = [...idPaths(operation), ...(IN_TEXTS[operation.name] ?? [])];
    if (paths.length === 0) continue;
    const isWholeArgument = (path: string) =>
      /^(?!after$)\w+$/.test(path) && idPaths(operation).includes(path) && !NARROWED.has(operation.name);
    test(`P-15 ${operation.name} answers another company's ids as those that do not exist`, async () => {
      for (const path of paths) {
        const unknown = await answerTo(operation, path, '019a0000-0000-7000-8000-00000000dead');
        // A cursor is a place in an order: what stands there makes no difference.
        const kinds = path === 'after' ? { keyId: things.keyId ?? '' } : things;
        if (isWholeArgument(path)) expect(unknown).toContain('"NOT_FOUND"');
        for (const [kind, id] of Object.entries(kinds)) {
          expect([path, kind, await answerTo(operation, path, id)]).toEqual([path, kind, unknown]);
        }
      }
    });
  }

  test('P-15 no operation with their ids has changed anything of them', async () => {
    expect(await everythingOfTheOthers()).toBe(before);
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
