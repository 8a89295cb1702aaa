import {
  type BillingMode,
  type Company,
  type CompanyAddress,
  findCompany,
  listCompanies,
  prepareSignUp,
  signUp as signUpCompany,
  updateCompanyProfile,
} from '../../../domain/accounts/company.ts';
import { isEmail } from '../../../domain/accounts/email.ts';
import { mailVerification } from '../../../domain/accounts/email-verification.ts';
import {
  type BillingStatusName,
  readCompanyBillingStatuses,
} from '../../../domain/credits/holds/billing-status.ts';
import type { CompanyBalance } from '../../../domain/credits/ledger/credit-account.ts';
import { updateStaleCustomers } from '../../../domain/payments/customer-profile.ts';
import { countAttempt, member } from '../access.ts';
import { creditsOrNull } from '../amounts.ts';
import { badInput, conflict, notFound, signUpRefused } from '../errors.ts';
import { bounded, boundedOrNull, idOf, searchArg } from '../input.ts';
import { defineConnection, type Page, pageArgs, pageOf } from '../paging.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';
import { requireTokenScope } from '../service-scopes.ts';
import { refuseUnverified } from './email-verification.ts';
import { startRecordedSession } from './sessions.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    Company: Company;
    CompanyAddress: CompanyAddress;
    CompanyConnection: Page<Company>;
  }
  interface SchemaScalars {
    BillingMode: BillingMode;
    CompanyStanding: BillingStatusName;
  }
}

const companyObject: Declaration = (builder) => {
  builder.enumType('BillingMode', {
    values: {
      PREPAID: { description: 'Calls are paid from prepaid credits.' },
      POSTPAID: { description: 'Calls are invoiced monthly.' },
    },
  });
  builder.enumType('CompanyStanding', {
    values: {
      GOOD: { description: 'Calls are accepted.' },
      OUT_OF_CREDITS: { description: 'Calls are refused with 402 until credits are added.' },
      OVERDUE: {
        description: 'An invoice is past its due date. Calls are refused with 403 until it is paid.',
      },
      SUSPENDED: { description: 'Operators have suspended it: its calls are refused with 403.' },
    },
  });
  const line = { nullable: true } as const;
  builder.objectType('CompanyAddress', {
    fields: (t) => ({
      line1: t.exposeString('line1'),
      line2: t.exposeString('line2', line),
      postalCode: t.exposeString('postalCode', line),
      city: t.exposeString('city', line),
      state: t.exposeString('state', line),
      country: t.exposeString('country', { description: 'Two letters, such as DE.' }),
    }),
  });
  builder.objectType('Company', {
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      billingMode: t.expose('billingMode', { type: 'BillingMode' }),
      creditLimit: t.float({
        nullable: true,
        description: 'How far below zero a POSTPAID company may go, in credits. Null: no limit.',
        resolve: (company) => creditsOrNull(company.creditLimitMicro),
      }),
      balance: t.loadable({
        type: 'CreditBalance',
        description: 'A service token needs the scope billing:read.',
        load: loadBalances,
        async resolve({ id }, _args, context) {
          await requireTokenScope(context, 'billing:read');
          return id;
        },
      }),
      standing: t.loadable({ type: 'CompanyStanding', load: loadBillingStatuses, resolve: ({ id }) => id }),
      address: t.expose('address', { type: 'CompanyAddress', nullable: true }),
      taxId: t.exposeString('taxId', { nullable: true, description: 'As written by the company.' }),
      billingEmail: t.exposeString('billingEmail', {
        nullable: true,
        description: 'Receives billing e-mails in addition to the admins.',
      }),
      providerCustomerId: t.exposeString('providerCustomerId', { nullable: true }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
      suspendedAt: t.expose('suspendedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'Since when operators have suspended it; null if they have not.',
      }),
      suspensionReason: t.exposeString('suspensionReason', {
        nullable: true,
        description: 'The reason that the operator gave, which errors of refused calls also contain.',
      }),
    }),
  });
  defineConnection(builder, 'Company');
};

/** One statement for all companies of a response. */
async function loadBalances(ids: string[], context: RequestContext): Promise<(CompanyBalance | Error)[]> {
  return (await billingStatusesOf(ids, context)).map((found) =>
    found instanceof Error ? found : found.balance,
  );
}

async function loadBillingStatuses(
  ids: string[],
  context: RequestContext,
): Promise<(BillingStatusName | Error)[]> {
  return (await billingStatusesOf(ids, context)).map((found) =>
    found instanceof Error ? found : found.word,
  );
}

async function billingStatusesOf(ids: string[], { parts: { database, clock } }: RequestContext) {
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
      args: {
        first: t.arg.int(),
        after: t.arg.id(),
        search: t.arg.string({
          description:
            'Words that must all occur in its name, id, billing address or the address of a member.',
        }),
      },
      async resolve(_root, args, { parts }) {
        const { limit, after } = pageArgs(args);
        const page = {
          ...{ limit: limit + 1, after: after === null ? undefined : idOf('page', after) },
          words: searchArg(args.search),
        };
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
        'Creates a company with the caller as its admin, and sends an e-mail to verify the address.',
      authScopes: { anyone: true },
      args: { input: t.arg({ type: input, required: true }) },
      async resolve(_root, args, context) {
        const { secrets, signUpMode } = context.parts;
        if (signUpMode !== 'open') {
          throw signUpRefused('Sign-up is disabled. Ask an admin of your company for an invitation.');
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

const updateCompany: Declaration = (builder) => {
  const input = builder.inputType('CompanyAddressInput', {
    fields: (t) => ({
      line1: t.string({ required: true }),
      line2: t.string(),
      postalCode: t.string(),
      city: t.string(),
      state: t.string(),
      country: t.string({ required: true, description: 'Two letters, such as DE.' }),
    }),
  });
  builder.mutationField('updateCompany', (t) =>
    t.field({
      type: 'Company',
      description:
        'Sets the profile of the caller’s company, which its invoices show. Omitted fields are unchanged; null removes a value.',
      authScopes: { companyAdmin: true },
      args: {
        name: t.arg.string(),
        address: t.arg({ type: input }),
        taxId: t.arg.string(),
        billingEmail: t.arg.string(),
      },
      async resolve(_root, args, context) {
        const viewer = await member(context);
        const { companyId } = viewer;
        const name = boundedOrNull('line', 'name', args.name) ?? undefined;
        const address = args.address == null ? args.address : addressFrom(args.address);
        const taxId = args.taxId == null ? args.taxId : taxIdFrom(args.taxId);
        const billingEmail = args.billingEmail == null ? args.billingEmail : emailFrom(args.billingEmail);
        // This address receives mail without having confirmed it, so only users with a verified address may set it.
        if (billingEmail != null) refuseUnverified(viewer);
        const given = { name, address, taxId, billingEmail };
        const fields = Object.entries(given).flatMap(([field, value]) =>
          value === undefined ? [] : [field],
        );
        if (fields.length === 0)
          throw badInput('name', 'say what to change: name, address, taxId or billingEmail');
        const now = new Date(context.parts.clock.now());
        const company = await recordedChange(context, async ({ transaction, record }) => {
          const changed = await updateCompanyProfile(transaction, { id: companyId, ...given, now });
          if (changed === null) throw notFound('company');
          const object = { objectKind: 'company', objectId: companyId };
          if (name !== undefined && fields.length === 1) {
            await record({ action: 'company.renamed', ...object, details: { name } });
          } else {
            await record({ action: 'company.updated', ...object, details: { fields: fields.join(', ') } });
          }
          return changed;
        });
        await updateStaleCustomers(context.parts, { companyId });
        return company;
      },
    }),
  );
};

const COUNTRY = /^[A-Z]{2}$/;

function addressFrom(
  address: {
    readonly [Field in keyof CompanyAddress]?: string | null | undefined;
  },
): CompanyAddress {
  const line = (field: keyof CompanyAddress) => {
    const text = address[field]?.trim() ?? '';
    return text === '' ? null : bounded('line', `address.${field}`, text);
  };
  const country = (line('country') ?? '').toUpperCase();
  if (!COUNTRY.test(country)) {
    throw badInput('address.country', 'a country is two letters, as DE or US');
  }
  const line1 = bounded('line', 'address.line1', address.line1);
  const rest = { postalCode: line('postalCode'), city: line('city'), state: line('state') };
  return { line1, line2: line('line2'), ...rest, country };
}

const TAX_ID = /^[\p{L}\p{N}][\p{L}\p{N} ./-]{1,39}$/u;

function taxIdFrom(value: string): string {
  const taxId = bounded('line', 'taxId', value);
  if (TAX_ID.test(taxId)) return taxId;
  throw badInput('taxId', 'a tax id has 2 to 40 letters and digits, with spaces, dots, slashes and hyphens');
}

function emailFrom(value: string): string {
  const email = bounded('email', 'billingEmail', value);
  if (isEmail(email)) return email;
  throw badInput('billingEmail', 'this is no e-mail address');
}

export const companyDeclarations: readonly Declaration[] = [
  companyObject,
  company,
  companies,
  signUp,
  updateCompany,
];
