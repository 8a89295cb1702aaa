import {
  type BillingMode,
  type Company,
  findCompany,
  listCompanies,
  prepareSignUp,
  renameCompany,
  signUp as signUpCompany,
} from '../../../domain/accounts/company.ts';
import { mailVerification } from '../../../domain/accounts/email-verification.ts';
import {
  type BillingStatusWord,
  readCompanyBillingStatuses,
} from '../../../domain/credits/holds/billing-status.ts';
import type { CompanyBalance } from '../../../domain/credits/ledger/credit-account.ts';
import { countAttempt, member } from '../access.ts';
import { creditsOrNull } from '../amounts.ts';
import { badInput, conflict, notFound, signUpRefused } from '../errors.ts';
import { bounded, idOf } from '../input.ts';
import { defineConnection, type Page, pageArgs, pageOf } from '../paging.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';
import { startRecordedSession } from './sessions.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    Company: Company;
    CompanyConnection: Page<Company>;
  }
  interface SchemaScalars {
    BillingMode: BillingMode;
    CompanyStanding: BillingStatusWord;
  }
}

const companyObject: Declaration = (builder) => {
  builder.enumType('BillingMode', {
    values: {
      PREPAID: { description: 'Calls are paid from credits bought before.' },
      POSTPAID: { description: 'Calls are invoiced monthly.' },
    },
  });
  builder.enumType('CompanyStanding', {
    values: {
      GOOD: { description: 'Its calls are answered.' },
      OUT_OF_CREDITS: { description: 'Its calls are refused with 402 until credits come.' },
      OVERDUE: {
        description: 'An invoice is past its due date: its calls are refused with 403 until it is paid.',
      },
    },
  });
  builder.objectType('Company', {
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      billingMode: t.expose('billingMode', { type: 'BillingMode' }),
      creditLimit: t.float({
        nullable: true,
        description: 'How far below zero a POSTPAID company may go, in credits; null is no limit.',
        resolve: (company) => creditsOrNull(company.creditLimitMicro),
      }),
      balance: t.loadable({ type: 'CreditBalance', load: loadBalances, resolve: ({ id }) => id }),
      standing: t.loadable({ type: 'CompanyStanding', load: loadStandings, resolve: ({ id }) => id }),
      providerCustomerId: t.exposeString('providerCustomerId', { nullable: true }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
    }),
  });
  defineConnection(builder, 'Company');
};

/** One statement for all companies of an answer. */
async function loadBalances(ids: string[], context: RequestContext): Promise<(CompanyBalance | Error)[]> {
  return (await standingsOf(ids, context)).map((found) => (found instanceof Error ? found : found.balance));
}

async function loadStandings(ids: string[], context: RequestContext): Promise<(BillingStatusWord | Error)[]> {
  return (await standingsOf(ids, context)).map((found) => (found instanceof Error ? found : found.word));
}

async function standingsOf(ids: string[], { parts: { database, clock } }: RequestContext) {
  const found = await readCompanyBillingStatuses(database, ids, clock.now());
  return ids.map((id) => found.get(id) ?? new Error(`the company ${id} has no credit account`));
}

const company: Declaration = (builder) =>
  builder.queryField('company', (t) =>
    t.field({
      type: 'Company',
      description: 'The caller’s own company.',
      authScopes: { member: true },
      async resolve(_root, _args, context) {
        const { companyId } = await member(context);
        const found = await findCompany(context.parts.database, companyId);
        if (found === null) throw notFound('company');
        return found;
      },
    }),
  );

const companies: Declaration = (builder) =>
  builder.queryField('companies', (t) =>
    t.field({
      type: 'CompanyConnection',
      description: 'All companies, in the order of their ids.',
      authScopes: { superAdmin: true },
      args: { first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, { parts }) {
        const { limit, after } = pageArgs(args);
        const page = { limit: limit + 1, after: after === null ? undefined : idOf('page', after) };
        return pageOf(await listCompanies(parts.database, page), limit, ({ id }) => id);
      },
    }),
  );

const signUp: Declaration = (builder) => {
  const input = builder.inputType('SignUpInput', {
    fields: (t) => ({
      companyName: t.string({ required: true }),
      email: t.string({ required: true }),
      password: t.string({ required: true }),
    }),
  });
  builder.mutationField('signUp', (t) =>
    t.field({
      type: 'Session',
      description:
        'A new company, whose first person, the caller, is its admin. A mail to verify the address follows.',
      authScopes: { anyone: true },
      args: { input: t.arg({ type: input, required: true }) },
      async resolve(_root, args, context) {
        const { secrets, signUpMode } = context.parts;
        if (signUpMode !== 'open') {
          throw signUpRefused('Nobody can sign up a company here: ask an admin of yours for an invitation.');
        }
        const companyName = bounded('line', 'input.companyName', args.input.companyName);
        const email = bounded('email', 'input.email', args.input.email);
        const password = bounded('secret', 'input.password', args.input.password);
        await countAttempt(context, 'sign-up', email);
        const prepared = await prepareSignUp(secrets, { companyName, email, password });
        if (prepared.outcome === 'bad-email') throw badInput('input.email', 'this is no e-mail address');
        if (prepared.outcome === 'bad-password') throw badInput('input.password', prepared.message);
        return await recordedChange(context, async (change) => {
          const added = await signUpCompany(change.transaction, secrets, prepared);
          if (added.outcome === 'email-taken') {
            throw conflict('This address has an account already: log in, or reset the password.');
          }
          const { companyId, userId } = added;
          await change.record({
            action: 'company.signed-up',
            objectKind: 'company',
            objectId: companyId,
            companyId,
            actor: { id: userId, email },
            details: { name: companyName },
          });
          await mailVerification(context.parts, change.transaction, { id: userId, email });
          return await startRecordedSession(context, change, { id: userId, email, companyId });
        });
      },
    }),
  );
};

const updateCompany: Declaration = (builder) =>
  builder.mutationField('updateCompany', (t) =>
    t.field({
      type: 'Company',
      authScopes: { companyAdmin: true },
      args: { name: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const name = bounded('line', 'name', args.name);
        const now = new Date(context.parts.clock.now());
        return await recordedChange(context, async ({ transaction, record }) => {
          const changed = await renameCompany(transaction, { id: companyId, name, now });
          if (changed === null) throw notFound('company');
          const details = { name };
          await record({ action: 'company.renamed', objectKind: 'company', objectId: companyId, details });
          return changed;
        });
      },
    }),
  );

export const companyDeclarations: readonly Declaration[] = [
  companyObject,
  company,
  companies,
  signUp,
  updateCompany,
];
