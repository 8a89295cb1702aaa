import {
  CEILING_NAMES,
  type CeilingName,
  type Ceilings,
  findCeilings,
  lockCeiling,
  NO_CEILINGS,
  readCeilings,
  setCeilings,
} from '../../../domain/accounts/ceilings.ts';
import { findCompany } from '../../../domain/accounts/company.ts';
import { countMembers } from '../../../domain/accounts/members.ts';
import { storedPostingBytes } from '../../../domain/jobs/job.ts';
import { countLiveKeys } from '../../../domain/keys/key-lifecycle.ts';
import { storedCvBytes } from '../../../domain/talents/talent.ts';
import type { Statements, Transaction } from '../../../ports/database.ts';
import { badInput, notFound, refusal } from '../errors.ts';
import { idOf } from '../input.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    CompanyCeilings: Ceilings & { readonly companyId: string };
    CeilingUse: CeilingUse;
  }
}

/** Null if there is no ceiling: nothing is counted then. */
type CeilingUse = Readonly<Record<CeilingName, number | null>>;

const MEANINGS: Readonly<Record<CeilingName, string>> = {
  requestsPerMinute: 'Requests a minute over all keys.',
  tokensPerMinute: 'Tokens a minute over all keys.',
  callsInFlight: 'Calls in flight over all keys.',
  storageMegabytes: 'Millions of bytes of CVs and postings.',
  documentsPerDay: 'CVs and postings uploaded or parsed in 24 hours, whether they could be read or not.',
  apiKeys: 'Valid keys. A rotation may exceed it by one until the old key is revoked.',
  members: 'Members of the company, including open invitations.',
};

const ceilingObjects: Declaration = (builder) => {
  builder.objectType('CompanyCeilings', {
    description: 'Limits set by the operator that the company’s admins cannot raise. Null: no ceiling.',
    fields: (t) => ({
      requestsPerMinute: t.exposeInt('requestsPerMinute', {
        nullable: true,
        description: MEANINGS.requestsPerMinute,
      }),
      tokensPerMinute: t.exposeInt('tokensPerMinute', {
        nullable: true,
        description: MEANINGS.tokensPerMinute,
      }),
      callsInFlight: t.exposeInt('callsInFlight', { nullable: true, description: MEANINGS.callsInFlight }),
      storageMegabytes: t.exposeInt('storageMegabytes', {
        nullable: true,
        description: MEANINGS.storageMegabytes,
      }),
      documentsPerDay: t.exposeInt('documentsPerDay', {
        nullable: true,
        description: MEANINGS.documentsPerDay,
      }),
      apiKeys: t.exposeInt('apiKeys', { nullable: true, description: MEANINGS.apiKeys }),
      members: t.exposeInt('members', { nullable: true, description: MEANINGS.members }),
      use: t.field({
        type: 'CeilingUse',
        description: 'The company’s current usage.',
        resolve: ({ companyId, ...ceilings }, _args, context) => useOf(context, companyId, ceilings),
      }),
    }),
  });
  builder.objectType('CeilingUse', {
    description:
      'Rates, calls in flight and documents are null without a ceiling: then they are not counted.',
    fields: (t) => ({
      requestsPerMinute: t.exposeFloat('requestsPerMinute', { nullable: true }),
      tokensPerMinute: t.exposeFloat('tokensPerMinute', { nullable: true }),
      callsInFlight: t.exposeFloat('callsInFlight', { nullable: true }),
      storageMegabytes: t.exposeFloat('storageMegabytes', { nullable: true }),
      documentsPerDay: t.exposeFloat('documentsPerDay', { nullable: true }),
      apiKeys: t.exposeFloat('apiKeys', { nullable: true }),
      members: t.exposeFloat('members', { nullable: true }),
    }),
  });
  builder.objectField('Company', 'ceilings', (t) =>
    t.loadable({ type: 'CompanyCeilings', load: loadCeilings, resolve: ({ id }) => id }),
  );
};

/** One statement for all companies of a response. */
async function loadCeilings(ids: string[], { parts: { database } }: RequestContext) {
  const found = await readCeilings(database, ids);
  return ids.map((companyId) => ({ companyId, ...(found.get(companyId) ?? NO_CEILINGS) }));
}

async function useOf(
  { parts: { database, counters, clock } }: RequestContext,
  companyId: string,
  ceilings: Ceilings,
): Promise<CeilingUse> {
  const calls = await counters.look(companyId);
  const counted = (name: keyof typeof calls) => (ceilings[name] === null ? null : calls[name]);
  const now = new Date(clock.now());
  return {
    requestsPerMinute: counted('requestsPerMinute'),
    tokensPerMinute: counted('tokensPerMinute'),
    callsInFlight: counted('callsInFlight'),
    documentsPerDay: counted('documentsPerDay'),
    storageMegabytes: await storedMegabytes(database, companyId),
    apiKeys: await countLiveKeys(database, companyId, now),
    members: await countMembers(database, companyId, now),
  };
}

/** Rounded to a thousandth. */
async function storedMegabytes(statements: Statements, companyId: string): Promise<number> {
  const bytes =
    (await storedCvBytes(statements, companyId)) + (await storedPostingBytes(statements, companyId));
  return Math.round(bytes / 1_000) / 1_000;
}

const companyCeilings: Declaration = (builder) =>
  builder.queryField('companyCeilings', (t) =>
    t.field({
      type: 'CompanyCeilings',
      description:
        'The ceilings of any company and what it uses of them. A company sees its own as `Company.ceilings`.',
      authScopes: { superAdmin: true },
      args: { companyId: t.arg.id({ required: true }) },
      async resolve(_root, args, { parts: { database } }) {
        const companyId = idOf('company', args.companyId);
        if ((await findCompany(database, companyId)) === null) throw notFound('company');
        return { companyId, ...(await findCeilings(database, companyId)) };
      },
    }),
  );

const setCompanyCeilings: Declaration = (builder) => {
  const input = builder.inputType('CeilingsInput', {
    description: 'Omitted fields are unchanged. Null removes a ceiling.',
    fields: (t) => ({
      requestsPerMinute: t.int({ description: MEANINGS.requestsPerMinute }),
      tokensPerMinute: t.int({ description: MEANINGS.tokensPerMinute }),
      callsInFlight: t.int({ description: MEANINGS.callsInFlight }),
      storageMegabytes: t.int({ description: MEANINGS.storageMegabytes }),
      documentsPerDay: t.int({ description: MEANINGS.documentsPerDay }),
      apiKeys: t.int({ description: MEANINGS.apiKeys }),
      members: t.int({ description: MEANINGS.members }),
    }),
  });
  builder.mutationField('setCompanyCeilings', (t) =>
    t.field({
      type: 'Company',
      description:
        'Sets limits that the company’s admins cannot raise. They take effect within a second. Existing objects are not removed.',
      authScopes: { superAdmin: true },
      args: { companyId: t.arg.id({ required: true }), input: t.arg({ type: input, required: true }) },
      async resolve(_root, args, context) {
        const companyId = idOf('company', args.companyId);
        const now = new Date(context.parts.clock.now());
        return await recordedChange(context, async ({ transaction, record, nothingChanged }) => {
          const set = await setCeilings(transaction, companyId, args.input, now);
          if (set.outcome === 'no-such-company') throw notFound('company');
          if (set.outcome === 'invalid') throw badInput(`input.${set.name}`, set.message);
          const changed = CEILING_NAMES.filter((name) => set.before[name] !== set.ceilings[name]);
          const details = Object.fromEntries(changed.map((name) => [name, set.ceilings[name]]));
          const object = { objectKind: 'company', objectId: companyId, companyId };
          if (changed.length === 0) nothingChanged();
          else await record({ action: 'company.ceilings-set', ...object, details });
          const company = await findCompany(transaction, companyId);
          if (company === null) throw notFound('company');
          return company;
        });
      },
    }),
  );
};

/** The end of each message: what is limited, and what to do. */
const REACHED: Readonly<Record<'storageMegabytes' | 'apiKeys' | 'members', string>> = {
  storageMegabytes: 'megabytes of CVs and postings. Erase some',
  apiKeys: 'live API keys. Revoke one',
  members: 'members, with open invitations. Remove one or withdraw an invitation',
};

function ceilingReached(
  name: CeilingName,
  limit: number,
  message: string,
  details: Readonly<Record<string, number>> = {},
) {
  return refusal('CEILING_REACHED', message, { ceiling: name, limit, ...details });
}

/**
 * Runs after a key, member or document was added, in the same transaction. Refuses, and so rolls back, what exceeds the
 * company's ceiling. Of two concurrent additions the second counts the first.
 */
async function heldToCeiling(
  transaction: Transaction,
  companyId: string,
  name: keyof typeof REACHED,
  count: () => Promise<number>,
  allowance = 0,
): Promise<void> {
  const limit = await lockCeiling(transaction, companyId, name);
  if (limit === null || (await count()) <= limit + allowance) return;
  throw ceilingReached(
    name,
    limit,
    `Your company has a ceiling of ${limit} ${REACHED[name]}, or ask the operator to raise it.`,
  );
}

/** After a key was added. A rotation leaves the old key active, so it may exceed the ceiling by one. */
export async function holdKeysToCeiling(
  { parts: { clock } }: RequestContext,
  transaction: Transaction,
  companyId: string,
  { isRotation }: { readonly isRotation: boolean },
): Promise<void> {
  const count = () => countLiveKeys(transaction, companyId, new Date(clock.now()));
  await heldToCeiling(transaction, companyId, 'apiKeys', count, isRotation ? 1 : 0);
}

/** After a user was invited or has joined. */
export async function holdMembersToCeiling(
  { parts: { clock } }: RequestContext,
  transaction: Transaction,
  companyId: string,
): Promise<void> {
  const count = () => countMembers(transaction, companyId, new Date(clock.now()));
  await heldToCeiling(transaction, companyId, 'members', count);
}

/** After a document was stored. */
export async function holdStorageToCeiling(transaction: Transaction, companyId: string): Promise<void> {
  const count = () => storedMegabytes(transaction, companyId);
  await heldToCeiling(transaction, companyId, 'storageMegabytes', count);
}

/**
 * Before a document is stored and read. It counts even if reading fails, together with the documents of parse calls.
 */
export async function countDocument({ parts }: RequestContext, companyId: string): Promise<void> {
  const { documentsPerDay: limit } = await findCeilings(parts.database, companyId);
  if (limit === null) return;
  const counted = await parts.counters.countDocument(companyId, limit);
  if (counted.outcome === 'counted') return;
  const retryAfterSeconds = Math.ceil(counted.retryAfterMs / 1_000);
  const message = `Your company has a ceiling of ${limit} documents a day, uploaded or parsed. Send it again later, or ask the operator to raise the ceiling.`;
  throw ceilingReached('documentsPerDay', limit, message, { retryAfterSeconds });
}

export const ceilingDeclarations: readonly Declaration[] = [
  ceilingObjects,
  companyCeilings,
  setCompanyCeilings,
];
