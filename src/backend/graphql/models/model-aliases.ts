import { creditsAsNumber } from '../../../domain/credits/ledger/credit-account.ts';
import { boundsOf, readBounds } from '../../../domain/models/alias-bounds.ts';
import { callableAliases, readAliases, type StoredAlias } from '../../../domain/models/alias-catalogue.ts';
import { lockVersion, readAliasVersions } from '../../../domain/models/alias-version.ts';
import {
  type AliasBounds,
  type AliasName,
  aliasOf,
  type FallbackPrice,
  isDocumented,
} from '../../../domain/models/aliases.ts';
import { percentOfFee } from '../../../domain/models/byok-fee.ts';
import { type AliasPrice, readPrices, setPrice, withdrawPrice } from '../../../domain/models/prices.ts';
import type { StoredTarget } from '../../../domain/models/target.ts';
import { readCatalogue } from '../../../domain/models/targets.ts';
import { type ShownFactor, shownFactors } from '../../../domain/models/tiers/price-factors.ts';
import type { Statements } from '../../../ports/database.ts';
import { badInput, changedSince, notFound } from '../errors.ts';
import { bounded, boundedOrNull } from '../input.ts';
import type { FieldSize } from '../query-cost.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    ModelAlias: ShownAlias;
    AliasPrice: AliasPrice;
    PriceFactor: ShownFactor;
  }
  interface SchemaInputs {
    AliasPriceInput: AliasPriceInput;
  }
  interface SchemaScalars {
    FallbackPrice: FallbackPrice;
  }
}

/** With the name that clients use. */
interface ShownAlias extends StoredAlias, AliasBounds {
  readonly alias: string;
}

export interface AliasPriceInput {
  prompt: number;
  cached: number;
  completion: number;
  cacheWrite?: number | null | undefined;
}

interface AliasPlace {
  readonly database: Statements;
  readonly aliasPrefix: string;
}

async function shownAliases({ database, aliasPrefix }: AliasPlace): Promise<readonly ShownAlias[]> {
  const aliases = await readAliases(database);
  const bounds = await readBounds(database);
  return aliases.map((stored) => {
    const own = bounds.find(({ alias }) => alias === stored.name);
    return { ...stored, ...boundsOf(stored.kind, own), alias: aliasOf(aliasPrefix, stored.name) };
  });
}

/** NOT_FOUND if there is no alias of this name, active or retired. */
export async function findModelAlias(place: AliasPlace, alias: string): Promise<ShownAlias> {
  const found = (await shownAliases(place)).find((one) => one.alias === alias);
  if (found === undefined) throw notFound('model alias');
  return found;
}

/** The aliases that a key without an allowlist may call, and that an allowlist may contain. Read once per request. */
export async function aliasNames(context: RequestContext): Promise<readonly string[]> {
  const names =
    namesOfRequests.get(context) ?? callableAliases(context.parts.database, context.parts.aliasPrefix);
  namesOfRequests.set(context, names);
  return await names;
}

const namesOfRequests = new WeakMap<RequestContext, Promise<readonly string[]>>();

const modelAliasObjects: Declaration = (builder) => {
  builder.objectType('PriceFactor', {
    description:
      'What the tokens of a call cost with this value of this field of its body, with more prompt_tokens than this value, or of a cache_write for 1h.',
    fields: (t) => ({
      field: t.exposeString('field'),
      value: t.exposeString('value'),
      factor: t.exposeFloat('factor', { description: 'In multiples of the price.' }),
    }),
  });
  builder.objectType('ModelAlias', {
    fields: (t) => ({
      alias: t.exposeString('alias'),
      kind: t.exposeString('kind', { description: 'chat, extract or embed.' }),
      isDocumented: t.boolean({
        description: 'Whether it is one of the six built-in aliases.',
        resolve: ({ name }) => isDocumented(name),
      }),
      contextLength: t.exposeFloat('contextLength', { description: 'Maximum prompt tokens of a call.' }),
      maxOutputTokens: t.exposeFloat('maxOutputTokens', {
        description: 'Maximum completion tokens of a call.',
      }),
      enforceMaxOutput: t.exposeBoolean('enforceMaxOutput', {
        description: 'Whether maxOutputTokens is added to bodies that name no maximum.',
      }),
      cacheBreakpoints: t.exposeBoolean('cacheBreakpoints', {
        description: 'Whether calls that are translated to Anthropic’s Messages get cache breakpoints.',
      }),
      drop: t.stringList({
        extensions: { maxRows: 32 } satisfies FieldSize,
        description: 'Top-level fields that are removed from bodies, because the targets do not have them.',
        resolve: ({ drop }) => [...drop],
      }),
      byokFeePercent: t.float({
        nullable: true,
        description:
          'What calls with a company’s own provider key cost, in percent of the price. Null: own keys are not allowed.',
        resolve: ({ byokFeeMillionths }) =>
          byokFeeMillionths === null ? null : percentOfFee(byokFeeMillionths),
      }),
      priceFactors: t.field({
        type: ['PriceFactor'],
        extensions: { maxRows: 10 } satisfies FieldSize,
        description:
          'Price factors of the provider’s tiers. Tiers that cost more and have no factor are refused.',
        resolve: ({ priceFactors }) => [...shownFactors(priceFactors)],
      }),
      retiredAt: t.expose('retiredAt', {
        type: 'DateTime',
        nullable: true,
        description: 'Further calls are refused. Its prices and usage remain available.',
      }),
      targets: t.loadableList({
        extensions: { maxRows: 10 } satisfies FieldSize,
        type: 'AliasTarget',
        nullable: true,
        description: 'For super admins: the targets that serve it. Empty if the embedded models do.',
        authScopes: { superAdmin: true },
        load: loadTargets,
        resolve: ({ name }) => name,
      }),
      prices: t.loadableList({
        extensions: { maxRows: 10 } satisfies FieldSize,
        type: 'AliasPrice',
        description: 'The current one, then future ones.',
        load: loadPrices,
        resolve: ({ name }) => name,
      }),
    }),
  });
  builder.objectType('AliasPrice', {
    description: 'In credits for a million tokens.',
    fields: (t) => ({
      id: t.exposeID('id'),
      prompt: t.float({ resolve: ({ promptMicro }) => creditsAsNumber(promptMicro) }),
      cached: t.float({
        description: 'The price of prompt tokens read from the provider’s cache.',
        resolve: ({ cachedMicro }) => creditsAsNumber(cachedMicro),
      }),
      completion: t.float({ resolve: ({ completionMicro }) => creditsAsNumber(completionMicro) }),
      cacheWrite: t.float({
        nullable: true,
        description:
          'The price of prompt tokens written to the provider’s cache. Null: the price of the prompt.',
        resolve: ({ cacheWriteMicro }) => (cacheWriteMicro == null ? null : creditsAsNumber(cacheWriteMicro)),
      }),
      inForceFrom: t.field({
        type: 'DateTime',
        resolve: ({ inForceFromMs }) => new Date(inForceFromMs),
      }),
    }),
  });
};

const routingFields: Declaration = (builder) => {
  builder.enumType('FallbackPrice', {
    description: 'What a call costs that a fallback alias serves.',
    values: {
      REQUESTED: {
        value: 'requested',
        description:
          'The price of the alias that served it, and at most what the requested alias would have cost.',
      },
      SERVED: { value: 'served', description: 'The price of the alias that served it.' },
    },
  });
  builder.objectFields('ModelAlias', (t) => {
    const ofOperators = { nullable: true, authScopes: { superAdmin: true } } as const;
    return {
      strategy: t.string({
        ...ofOperators,
        description:
          'For super admins: which target is tried first, by order, weight or latency. Null: weight.',
        resolve: ({ strategy }) => strategy,
      }),
      retries: t.int({
        ...ofOperators,
        description: 'For super admins: tries beyond one per target.',
        resolve: ({ retries }) => retries,
      }),
      retryStatuses: t.intList({
        ...ofOperators,
        description: 'For super admins: further statuses that try the next target.',
        resolve: ({ retryStatuses }) => [...(retryStatuses ?? [])],
      }),
      fallback: t.string({
        ...ofOperators,
        description: 'For super admins: the alias that serves calls which no target of this one serves.',
        resolve: ({ fallback }, _args, { parts }) =>
          fallback === null ? null : aliasOf(parts.aliasPrefix, fallback),
      }),
      fallbackPrice: t.field({
        ...ofOperators,
        type: 'FallbackPrice',
        description: 'For super admins: what a call costs that the fallback serves. Null: REQUESTED.',
        resolve: ({ fallbackPrice }) => fallbackPrice,
      }),
      hedgeMs: t.int({
        ...ofOperators,
        description:
          'For super admins: milliseconds after which a second target is called in parallel with the first.',
        resolve: ({ hedgeMs }) => hedgeMs,
      }),
      version: t.loadable({
        ...ofOperators,
        type: 'String',
        description: 'For super admins: it changes with every change of the alias. For `ifVersion`.',
        load: async (names: AliasName[], { parts }: RequestContext) => {
          const versions = await readAliasVersions(parts.database, parts.secrets);
          return names.map((name) => versions.get(name) ?? null);
        },
        resolve: ({ name }) => name,
      }),
    };
  });
};

async function loadPrices(names: AliasName[], { parts }: RequestContext): Promise<AliasPrice[][]> {
  const prices = await readPrices(parts.database);
  return names.map((name) => prices.filter(({ alias }) => alias === name));
}

/** One statement for all aliases of a response. */
async function loadTargets(names: AliasName[], { parts }: RequestContext): Promise<StoredTarget[][]> {
  const { targets } = await readCatalogue(parts.database);
  return names.map((name) => targets.filter(({ alias }) => alias === name));
}

const modelAliases: Declaration = (builder) =>
  builder.queryField('modelAliases', (t) =>
    t.field({
      type: ['ModelAlias'],
      description: 'The names by which models are called, and to which keys can be limited.',
      authScopes: { signedIn: true },
      args: {
        includeRetired: t.arg.boolean({ description: 'Includes retired ones, for their prices.' }),
      },
      async resolve(_root, { includeRetired }, { parts }) {
        const aliases = await shownAliases(parts);
        return aliases.filter(({ retiredAt }) => includeRetired === true || retiredAt === null);
      },
    }),
  );

const setAliasPrice: Declaration = (builder) => {
  builder.inputType('AliasPriceInput', {
    description: 'In credits for a million tokens.',
    fields: (t) => ({
      prompt: t.float({ required: true }),
      cached: t.float({ required: true }),
      completion: t.float({ required: true }),
      cacheWrite: t.float({ description: 'Default: the price of the prompt.' }),
    }),
  });
  builder.mutationField('setAliasPrice', (t) =>
    t.field({
      type: 'AliasPrice',
      description:
        'The price of an alias, effective now, at a later time or, with a reason, from a time that has passed: that alone changes ' +
        'no charge (`rerateCalls`). A call is charged at the price when it began.',
      authScopes: { superAdmin: true },
      args: {
        alias: t.arg.string({ required: true }),
        price: t.arg({ type: 'AliasPriceInput', required: true }),
        from: t.arg({ type: 'DateTime', description: 'Left out: now.' }),
        reason: t.arg.string({ description: 'Required where `from` has passed.' }),
        ifVersion: t.arg.string({
          description: 'The version that the change is based on. CONFLICT if the alias has a different one.',
        }),
      },
      async resolve(_root, args, context) {
        const { secrets, aliasPrefix: prefix } = context.parts;
        const alias = bounded('line', 'alias', args.alias);
        const { prompt, cached, completion, cacheWrite = null } = args.price;
        return await recordedChange(context, async ({ database, sharedState, record }) => {
          const params = {
            alias,
            price: { prompt, cached, completion, cacheWrite },
            from: args.from ?? null,
            reason: reasonOf(args.reason),
          };
          const parts = { database, sharedState, secrets, prefix };
          if (!(await lockVersion(parts, alias, args.ifVersion))) throw changedSince('alias');
          const set = await setPrice(parts, params);
          if (set.outcome === 'unknown-alias') throw notFound('model alias');
          if (set.outcome !== 'changed') {
            throw badInput(PRICE_FIELDS[set.outcome], set.problem);
          }
          const { inForceFromMs } = set.version;
          const details = {
            prompt,
            cached,
            completion,
            cacheWrite,
            from: new Date(inForceFromMs).toISOString(),
            ...(params.reason === null ? {} : { reason: params.reason }),
          };
          const object = { objectKind: 'model-alias', objectId: alias, companyId: null };
          await record({ action: 'alias.price-set', ...object, details });
          return set.version;
        });
      },
    }),
  );
};

const PRICE_FIELDS = { 'wrong-time': 'from', 'wrong-price': 'price', 'no-reason': 'reason' } as const;
const LONGEST_REASON = 500;

function reasonOf(given: string | null | undefined): string | null {
  const reason = boundedOrNull('paragraph', 'reason', given);
  if (reason !== null && reason.length > LONGEST_REASON) {
    throw badInput('reason', `at most ${LONGEST_REASON} characters`);
  }
  return reason;
}

const withdrawAliasPrice: Declaration = (builder) =>
  builder.mutationField('withdrawAliasPrice', (t) =>
    t.field({
      type: 'AliasPrice',
      description: 'Withdraws a price to come, up to a minute before it takes effect: no call ever has it.',
      authScopes: { superAdmin: true },
      args: {
        alias: t.arg.string({ required: true }),
        from: t.arg({ type: 'DateTime', required: true, description: 'When it would take effect.' }),
      },
      async resolve(_root, args, context) {
        const alias = bounded('line', 'alias', args.alias);
        return await recordedChange(context, async ({ database, sharedState, record }) => {
          const parts = { database, sharedState, prefix: context.parts.aliasPrefix };
          const withdrawn = await withdrawPrice(parts, { alias, from: args.from });
          if (withdrawn.outcome === 'unknown-alias') throw notFound('model alias');
          if (withdrawn.outcome !== 'changed') throw badInput('from', withdrawn.problem);
          const object = { objectKind: 'model-alias', objectId: alias, companyId: null };
          await record({
            action: 'alias.price-withdrawn',
            ...object,
            details: { from: args.from.toISOString() },
          });
          return withdrawn.version;
        });
      },
    }),
  );

export const modelAliasDeclarations: readonly Declaration[] = [
  modelAliasObjects,
  routingFields,
  modelAliases,
  setAliasPrice,
  withdrawAliasPrice,
];
