import { findCompanyNames } from '../../../domain/accounts/company.ts';
import { listRefusedAddresses, type RefusedAddress } from '../../../domain/calls/log/address-refusals.ts';
import { completionPriceFactorOf, priceFactorOf } from '../../../domain/calls/log/call-lines.ts';
import {
  type CallLogFilter,
  type CallLogPage,
  isCallCursor,
  type LoggedCall,
  listCalls,
} from '../../../domain/calls/log/call-log.ts';
import { creditsAsNumber } from '../../../domain/credits/ledger/credit-account.ts';
import { findKeyNames } from '../../../domain/keys/key-lifecycle.ts';
import { type AliasPrice, findPrices } from '../../../domain/models/prices.ts';
import { accessOf, member } from '../access.ts';
import { creditsOrNull, microFrom } from '../amounts.ts';
import { badInput, forbidden, notFound } from '../errors.ts';
import { boundedOrNull, idOf, timeSpan } from '../input.ts';
import { pageArgs, wrongCursor } from '../paging.ts';
import type { FieldSize } from '../query-cost.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

interface Named {
  readonly id: string;
  readonly name: string;
}

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    Call: LoggedCall;
    CallApiKey: Named;
    CallCompany: Named;
    CallConnection: CallLogPage;
    AddressRefusal: RefusedAddress;
  }
  interface SchemaInputs {
    CallFilter: GivenFilter;
  }
}

const callObjects: Declaration = (builder) => {
  for (const name of ['CallApiKey', 'CallCompany'] as const) {
    builder.objectType(name, {
      fields: (t) => ({ id: t.exposeID('id'), name: t.exposeString('name') }),
    });
  }
  builder.objectType('Call', {
    description: 'A call of a key, or of the platform for a company. Prompts and answers are not in it.',
    fields: (t) => ({
      id: t.exposeID('id'),
      requestId: t.exposeString('requestId', {
        description: 'The value of the x-request-id response header.',
      }),
      createdAt: t.expose('startedAt', { type: 'DateTime', description: 'When it began.' }),
      endpoint: t.exposeString('endpoint', {
        description: 'The route, such as chat/completions or parse/cv.',
      }),
      overMcp: t.exposeBoolean('overMcp', { description: 'It was made through an MCP tool, not REST.' }),
      model: t.exposeString('model', { nullable: true, description: 'The alias that was requested.' }),
      servedBy: t.exposeString('servedBy', {
        nullable: true,
        description: 'The alias that answered if it is a different one.',
      }),
      outcome: t.expose('outcome', { type: 'OperationOutcome' }),
      status: t.exposeInt('httpStatus', { description: 'The HTTP status of the response.' }),
      code: t.exposeString('code', {
        nullable: true,
        description:
          'Why it failed or was refused, as a short code such as INSUFFICIENT_CREDITS or client-left. A stream that was charged ' +
          'after its client left has drained-beyond-free, if the free ones of the hour were used up, or drained.',
      }),
      stream: t.exposeBoolean('streamed'),
      promptTokens: t.float({ nullable: true, resolve: ({ promptTokens }) => numberOf(promptTokens) }),
      cachedTokens: t.float({ nullable: true, resolve: ({ cachedTokens }) => numberOf(cachedTokens) }),
      cacheWriteTokens: t.float({
        nullable: true,
        resolve: ({ cacheWriteTokens }) => numberOf(cacheWriteTokens),
      }),
      completionTokens: t.float({
        nullable: true,
        resolve: ({ completionTokens }) => numberOf(completionTokens),
      }),
      credits: t.float({ resolve: ({ chargeMicro }) => creditsAsNumber(chargeMicro) }),
      toolCredits: t.float({
        description: 'The part of `credits` that is for hosted tools.',
        resolve: ({ surchargeMicro }) => creditsAsNumber(surchargeMicro),
      }),
      firstTokenMs: t.exposeInt('firstByteMs', {
        nullable: true,
        description: 'Time until the response began. Null if no model answered.',
      }),
      durationMs: t.exposeInt('durationMs'),
      endUser: t.exposeString('endUser', { nullable: true, description: 'As requested by the client.' }),
      tags: t.stringList({
        extensions: { maxRows: 8 } satisfies FieldSize,
        resolve: ({ tags }) => [...tags],
      }),
      project: t.exposeString('project', { nullable: true }),
      cacheHit: t.exposeBoolean('cacheHit'),
      ownKey: t.exposeBoolean('ownKey', { description: 'Made with the company’s own provider key.' }),
      count: t.exposeInt('count', {
        description:
          'Beyond 60 refusals a minute of a key with the same code, one row represents this many of them.',
      }),
      apiKey: t.loadable({
        type: 'CallApiKey',
        nullable: true,
        description: 'Null for calls of the platform.',
        load: loadKeys,
        resolve: ({ keyId }) => keyId,
      }),
      company: t.loadable({
        type: 'CallCompany',
        nullable: true,
        load: loadCompanies,
        resolve: ({ companyId }) => companyId,
      }),
    }),
  });
  builder.objectFields('Call', (t) => ({
    pricedAs: t.exposeString('pricedAs', {
      nullable: true,
      description:
        'The alias whose price it was charged at, of a call that another alias answered. Null if it was not charged.',
    }),
    price: t.loadable({
      type: 'AliasPrice',
      nullable: true,
      description: 'The price that it was charged at. Null where it was not charged.',
      load: loadPrices,
      resolve: ({ priceId }) => priceId,
    }),
    tier: t.exposeString('tier', {
      nullable: true,
      description: 'The provider tier that served it if it has a price factor, such as priority.',
    }),
    priceFactor: t.float({
      description: 'What its tokens cost in multiples of the price; 1 is the price itself.',
      resolve: priceFactorOf,
    }),
    completionPriceFactor: t.float({
      description:
        'What its completion tokens cost in multiples of the price: `priceFactor`, unless its prompt was long and the alias ' +
        'has another factor for completions of long prompts.',
      resolve: completionPriceFactorOf,
    }),
    hourWriteTokens: t.float({
      nullable: true,
      description:
        'The part of `cacheWriteTokens` that stays in the provider’s cache for an hour, which costs more.',
      resolve: ({ hourWriteTokens }) => numberOf(hourWriteTokens),
    }),
    unpriced: t.stringList({
      description:
        'The fields and tools for which the provider reported a cost that no price covers, such as service_tier or ' +
        'web_search. It was charged by the prices that there are.',
      extensions: { maxRows: 16 } satisfies FieldSize,
      resolve: ({ unpriced }) => [...unpriced],
    }),
  }));
  // What an operator sees besides.
  builder.objectFields('Call', (t) => ({
    target: t.string({
      nullable: true,
      description: 'The id of the target that answered, or was tried last. For super admins; otherwise null.',
      resolve: async ({ targetId }, _args, context) => ((await isOperator(context)) ? targetId : null),
    }),
    tries: t.int({
      nullable: true,
      description: 'Number of provider attempts. For super admins; otherwise null.',
      resolve: async ({ tries }, _args, context) => ((await isOperator(context)) ? tries : null),
    }),
    providerCost: t.float({
      nullable: true,
      description: 'What the provider charges for it, in credits. For super admins; otherwise null.',
      resolve: async ({ costMicro }, _args, context) =>
        (await isOperator(context)) ? creditsOrNull(costMicro) : null,
    }),
  }));
  builder.objectType('CallConnection', {
    fields: (t) => ({
      nodes: t.field({ type: ['Call'], resolve: ({ calls }) => [...calls] }),
      pageInfo: t.field({
        type: 'PageInfo',
        resolve: ({ calls, next }) => ({ nodes: calls, hasNextPage: next !== null, endCursor: next }),
      }),
      searchedUntil: t.expose('searchedUntil', {
        type: 'DateTime',
        nullable: true,
        description:
          'Set where so few calls match that the page is not full: those since then were looked at, and `endCursor` goes on ' +
          'with earlier ones.',
      }),
    }),
  });
};

const addressRefusalObjects: Declaration = (builder) =>
  builder.objectType('AddressRefusal', {
    description:
      'Requests that were refused before a key was known, or beyond the limit of their address, of one address with one code.',
    fields: (t) => ({
      address: t.exposeString('address', {
        description: 'Empty for addresses beyond the first thousand per minute and process.',
      }),
      code: t.exposeString('code'),
      count: t.float({ resolve: ({ count }) => Number(count) }),
      firstMinute: t.expose('firstMinute', { type: 'DateTime' }),
      lastMinute: t.expose('lastMinute', { type: 'DateTime' }),
    }),
  });

function numberOf(tokens: bigint | null): number | null {
  return tokens === null ? null : Number(tokens);
}

/** A service token has its creator's rights in the company, but no operator rights. */
export async function isOperator(context: RequestContext): Promise<boolean> {
  return (await accessOf(context)).superAdmin && (await context.serviceToken()) === null;
}

/**
 * Whose calls a viewer may see: company admins those of their company, operators those of any company, or of all
 * (null). Another company's id is NOT_FOUND.
 */
export async function companyOfCalls(
  context: RequestContext,
  requestedId: string | null,
): Promise<string | null> {
  if (await isOperator(context)) return requestedId;
  const access = await accessOf(context);
  if (!access.companyAdmin) throw forbidden();
  const { companyId } = await member(context);
  if (requestedId !== null && requestedId !== companyId) throw notFound('company');
  return companyId;
}

async function loadKeys(ids: string[], context: RequestContext): Promise<(Named | null)[]> {
  const found = await findKeyNames(context.parts.database, ids);
  const byId = new Map(found.map((key) => [key.id, key]));
  return ids.map((id) => byId.get(id) ?? null);
}

export async function loadCompanies(ids: string[], context: RequestContext): Promise<(Named | null)[]> {
  const found = await findCompanyNames(context.parts.database, ids);
  const byId = new Map(found.map((company) => [company.id, company]));
  return ids.map((id) => byId.get(id) ?? null);
}

async function loadPrices(ids: string[], context: RequestContext): Promise<(AliasPrice | null)[]> {
  const found = await findPrices(context.parts.database, ids);
  const byId = new Map(found.map((price) => [price.id, price]));
  return ids.map((id) => byId.get(id) ?? null);
}

type Given<T> = { [Field in keyof T]?: T[Field] | null | undefined };

/** As `CallFilter` declares it. */
type GivenFilter = Given<{
  id: string | number;
  from: Date;
  to: Date;
  apiKeyId: string | number;
  model: string;
  status: number;
  code: string;
  endUser: string;
  tag: string;
  requestId: string;
  minDurationMs: number;
  minCredits: number;
  companyId: string | number;
}>;

const callFilterInput: Declaration = (builder) => {
  builder.inputType('CallFilter', {
    description: 'Omitted fields do not filter.',
    fields: (t) => ({
      id: t.id({ description: 'One call: the `source` of the transaction that it was charged by names it.' }),
      from: t.field({ type: 'DateTime', description: 'Not before.' }),
      to: t.field({ type: 'DateTime', description: 'Before.' }),
      apiKeyId: t.id(),
      model: t.string({ description: 'The alias, as clients write it.' }),
      status: t.int({ description: 'The HTTP status.' }),
      code: t.string(),
      endUser: t.string(),
      tag: t.string(),
      requestId: t.string(),
      minDurationMs: t.int(),
      minCredits: t.float(),
      companyId: t.id({ description: 'For super admins, who see all companies if it is omitted.' }),
    }),
  });
};

/** Of the companies whose calls the viewer may see. */
export async function callFilter(context: RequestContext, given: GivenFilter): Promise<CallLogFilter> {
  const requestedId = given.companyId == null ? null : idOf('company', given.companyId);
  const { from = null, to = null, status = null, minDurationMs = null } = given;
  if (from !== null && to !== null && from >= to) throw badInput('to', 'it must be after `from`');
  return {
    ...{ from, to, status, minDurationMs },
    id: given.id == null ? null : idOf('call', given.id),
    companyId: await companyOfCalls(context, requestedId),
    keyId: given.apiKeyId == null ? null : idOf('API key', given.apiKeyId),
    model: boundedOrNull('line', 'model', given.model),
    code: boundedOrNull('line', 'code', given.code),
    endUser: boundedOrNull('line', 'endUser', given.endUser),
    tag: boundedOrNull('line', 'tag', given.tag),
    requestId: boundedOrNull('line', 'requestId', given.requestId),
    minChargeMicro: given.minCredits == null ? null : microFrom('minCredits', given.minCredits),
  };
}

const calls: Declaration = (builder) => {
  builder.queryField('calls', (t) =>
    t.field({
      type: 'CallConnection',
      description:
        'Calls of the company, refused ones too, the newest first; for super admins of all companies. A call is in it within ' +
        'two seconds of its end.',
      authScopes: { companyAdmin: true, superAdmin: true },
      args: { filter: t.arg({ type: 'CallFilter' }), first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, context) {
        const { limit, after } = pageArgs(args);
        if (after !== null && !isCallCursor(after)) throw wrongCursor();
        const filter = await callFilter(context, args.filter ?? {});
        return await listCalls(context.parts.database, filter, { limit, after });
      },
    }),
  );
};

const MOST_ADDRESSES = 100;

const addressRefusals: Declaration = (builder) =>
  builder.queryField('addressRefusals', (t) =>
    t.field({
      type: ['AddressRefusal'],
      description:
        'Requests that were refused before a key was known, or because too many came from their address, by address and code: ' +
        'the 100 most frequent of the last day, or of `hours`. They are stored for a week.',
      authScopes: { superAdmin: true },
      extensions: { maxRows: MOST_ADDRESSES } satisfies FieldSize,
      args: { hours: t.arg.int({ description: 'The period in hours, 1 to 168.' }) },
      async resolve(_root, args, { parts: { database, clock } }) {
        const span = timeSpan(args, clock.now());
        return [...(await listRefusedAddresses(database, { ...span, limit: MOST_ADDRESSES }))];
      },
    }),
  );

export const callDeclarations: readonly Declaration[] = [
  callObjects,
  callFilterInput,
  addressRefusalObjects,
  calls,
  addressRefusals,
];
