import { beforeAll, describe, expect, test } from 'bun:test';
import { getNamedType } from 'graphql';
import { declaredAccess } from '../../src/backend/graphql/access.ts';
import { createSchema } from '../../src/backend/graphql/schema.ts';
import { useResource } from '../setup/use-resource.ts';
import { openBackend, type Person } from './backend-under-test.ts';
import { type MoneyOf, makeMoneyOf } from './money-of-a-company.ts';
import { documentOf, operationsOf, variablesOf } from './sample-operations.ts';

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
}

/** Every operation that takes an id: which arguments name another company's thing. A new operation needs a row. */
const ROWS: Readonly<Record<string, (things: ForeignThings) => Readonly<Record<string, string>>>> = {
  endSession: ({ sessionId }) => ({ id: sessionId }),
  changeRole: ({ userId }) => ({ userId }),
  removeMember: ({ userId }) => ({ userId }),
  withdrawInvitation: ({ invitationId }) => ({ id: invitationId }),
  rotateApiKey: ({ keyId }) => ({ id: keyId }),
  revokeApiKey: ({ keyId }) => ({ id: keyId }),
  updateApiKeyLimits: ({ keyId }) => ({ id: keyId }),
  job: ({ jobId }) => ({ id: jobId }),
  talent: ({ talentId }) => ({ id: talentId }),
  meeting: ({ meetingId }) => ({ id: meetingId }),
  updateJob: ({ jobId }) => ({ id: jobId }),
  closeJob: ({ jobId }) => ({ id: jobId }),
  updateTalent: ({ talentId }) => ({ id: talentId }),
  matches: ({ jobId }) => ({ jobId }),
  addMeetingTranscript: ({ meetingId }) => ({ meetingId }),
  eraseTalent: ({ talentId }) => ({ id: talentId }),
  exportTalent: ({ talentId }) => ({ id: talentId }),
  auditLog: ({ companyId }) => ({ companyId }),
  createCreditPackCheckout: ({ keyId }) => ({ creditPackId: keyId }),
  createSubscriptionCheckout: ({ keyId }) => ({ planId: keyId }),
  replayPaymentEvent: ({ purchaseId }) => ({ id: purchaseId }),
  redriveDeadLetters: ({ jobId }) => ({ ids: jobId }),
  deleteDeadLetters: ({ jobId }) => ({ ids: jobId }),
  adjustCredits: ({ companyId }) => ({ companyId }),
  setCompanyBilling: ({ companyId }) => ({ companyId }),
};

const PEOPLE_TABLES = [
  'companies',
  'users',
  'api_keys',
  'invitations',
  'sessions',
  'audit_log',
  'jobs',
  'talents',
  'meetings',
];
const MONEY_TABLES = [
  'credit_accounts',
  'invoices',
  'plans',
  'credit_packs',
  'credit_pack_purchases',
  'subscriptions',
  'provider_events',
];

const withIds = operationsOf(createSchema()).filter(({ field }) =>
  field.args.some(({ name, type }) => name !== 'after' && getNamedType(type).name === 'ID'),
);

let things: ForeignThings;
let stranger: Person;

const backend = useResource(() => openBackend());
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
  const made = await otherAdmin.ask<Made>(`mutation {
    createApiKey(input: { name: "theirs" }) { apiKey { id } }
    inviteMember(email: "guest@other.example") { id }
    createJob(input: { title: "theirs" }) { id }
    createTalent(input: { text: "Somebody, welder" }) { id }
    createMeeting(input: { room: "theirs" }) { id } }`);
  await backend.people.nobody.ask(
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
    ...(await makeMoneyOf(backend, backend.companies.other)),
  };
});

/** Everything but the attempts to get in, as one text. */
async function everythingOfTheOthers(): Promise<string> {
  const tables = [...PEOPLE_TABLES, ...MONEY_TABLES];
  const rows = await Promise.all(
    tables.map((table) => backend.database.query(`select to_jsonb(t) as row from ${table} t order by id`)),
  );
  return JSON.stringify(rows);
}

describe('another company’s things', () => {
  for (const operation of withIds) {
    const demands = declaredAccess(operation.field.extensions);
    // What only super admins may call is refused before its ids are looked at.
    const code = demands.every((demand) => demand === 'superAdmin') ? 'FORBIDDEN' : 'NOT_FOUND';
    test(`P-15 ${operation.name} with another company's id is ${code}, and nothing is done`, async () => {
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

  test('P-15 lists show a company its own and nothing else', async () => {
    const lists = `{ company { id } members { nodes { id } } apiKeys { id } invitations { nodes { id } } sessions { id }
      jobs { nodes { id } } talents { nodes { id } } meetings { nodes { id } } auditLog(first: 100) { nodes { companyId objectId } }
      creditTransactions { nodes { source } } invoices { nodes { id } } subscription { id plan { name } }
      creditPackPurchases { nodes { id creditPack { name } } } }`;
    const shown = JSON.stringify(await stranger.ask(lists));
    for (const foreign of Object.values(things)) expect(shown).not.toContain(foreign);
    const own = JSON.stringify(await backend.people.otherAdmin.ask(lists));
    for (const theirs of Object.values(things)) expect(own).toContain(theirs);
  });
});
