import { creditsAsNumber } from '../../../domain/credits/ledger/credit-account.ts';
import { ALIAS_NAMES, type AliasName, aliasOf, nameOfAlias } from '../../../domain/models/aliases.ts';
import { type AliasPrice, readPrices, setPrice } from '../../../domain/models/prices.ts';
import type { StoredTarget } from '../../../domain/models/target.ts';
import {
  MOST_TARGETS,
  readCatalogue,
  setAliasTargets as setTargets,
  TOO_MANY_TARGETS,
} from '../../../domain/models/targets.ts';
import type { ApproveHost } from '../../../ports/outgoing-addresses.ts';
import { freshCode } from '../access.ts';
import { badInput, notFound } from '../errors.ts';
import { bounded, boundedOrNull } from '../input.ts';
import type { FieldSize } from '../query-cost.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    ModelAlias: { readonly alias: string; readonly name: AliasName; readonly kind: string };
    AliasTarget: StoredTarget;
    AliasPrice: AliasPrice;
  }
}

const modelAliasObjects: Declaration = (builder) => {
  builder.objectType('ModelAlias', {
    fields: (t) => ({
      alias: t.exposeString('alias'),
      kind: t.exposeString('kind', { description: 'chat, extract or embed.' }),
      targets: t.loadableList({
        extensions: { maxRows: 10 } satisfies FieldSize,
        type: 'AliasTarget',
        nullable: true,
        description: 'For super admins: who answers for it; empty where the embedded models do.',
        authScopes: { superAdmin: true },
        load: loadTargets,
        resolve: ({ name }) => name,
      }),
      prices: t.loadableList({
        extensions: { maxRows: 10 } satisfies FieldSize,
        type: 'AliasPrice',
        description: 'The one in force, then those to come.',
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
        description: 'Of tokens of the prompt that the provider had in its cache.',
        resolve: ({ cachedMicro }) => creditsAsNumber(cachedMicro),
      }),
      completion: t.float({ resolve: ({ completionMicro }) => creditsAsNumber(completionMicro) }),
      inForceFrom: t.field({
        type: 'DateTime',
        resolve: ({ inForceFromMs }) => new Date(inForceFromMs),
      }),
    }),
  });
  builder.objectType('AliasTarget', {
    fields: (t) => ({
      id: t.exposeID('id'),
      baseUrl: t.exposeString('baseUrl'),
      model: t.exposeString('model'),
      weight: t.exposeFloat('weight'),
      hasKey: t.boolean({ resolve: ({ sealedKey }) => sealedKey !== null }),
    }),
  });
};

async function loadPrices(names: AliasName[], { parts }: RequestContext): Promise<AliasPrice[][]> {
  const prices = await readPrices(parts.database);
  return names.map((name) => prices.filter(({ alias }) => alias === name));
}

/** One statement for all aliases of an answer. */
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
      resolve: (_root, _args, { parts }) =>
        ALIAS_NAMES.map(({ name, kind }) => ({ name, kind, alias: aliasOf(parts.aliasPrefix, name) })),
    }),
  );

const setAliasTargets: Declaration = (builder) => {
  const input = builder.inputType('AliasTargetInput', {
    fields: (t) => ({
      baseUrl: t.string({ required: true }),
      model: t.string({ required: true }),
      apiKey: t.string({ description: 'The provider’s key; kept encrypted and never shown again.' }),
      weight: t.float({ description: 'Its share of the calls; 1 unless told.' }),
    }),
  });
  builder.mutationField('setAliasTargets', (t) =>
    t.field({
      type: 'ModelAlias',
      description:
        'From now on the alias has exactly these targets; with none, the embedded models serve it.',
      authScopes: { superAdmin: true },
      args: {
        alias: t.arg.string({ required: true }),
        targets: t.arg({ type: [input], required: true }),
      },
      async resolve(_root, args, context) {
        await freshCode(context);
        const { secrets, cipher, aliasPrefix: prefix } = context.parts;
        const alias = bounded('line', 'alias', args.alias);
        if (args.targets.length > MOST_TARGETS) throw badInput('targets', TOO_MANY_TARGETS);
        const targets = args.targets.map((target, at) => ({
          baseUrl: bounded('technical', `targets.${at}.baseUrl`, target.baseUrl),
          model: bounded('technical', `targets.${at}.model`, target.model),
          apiKey: boundedOrNull('technical', `targets.${at}.apiKey`, target.apiKey),
          weight: target.weight ?? 1,
        }));
        await refuseInside(context.parts.approveHost, targets);
        return await recordedChange(context, async ({ database, sharedState, record }) => {
          const parts = { database, sharedState, secrets, cipher, prefix };
          const changed = await setTargets(parts, alias, targets);
          if (changed.outcome === 'unknown-alias') throw notFound('model alias');
          if (changed.outcome === 'wrong-target') throw badInput('targets', changed.problem);
          const shown = targets.map(({ baseUrl, model }) =>
            `${new URL(baseUrl).host} ${model}`.slice(0, 200),
          );
          const object = { objectKind: 'model-alias', objectId: alias, companyId: null };
          await record({ action: 'alias.targets-set', ...object, details: { targets: shown } });
          return declared(prefix, alias);
        });
      },
    }),
  );
};

/** At once, so that the person who mistyped a name hears of it; every call checks again. */
async function refuseInside(
  approveHost: ApproveHost | null,
  targets: readonly { baseUrl: string }[],
): Promise<void> {
  if (approveHost === null) return;
  for (const [at, { baseUrl }] of targets.entries()) {
    const hostname = URL.parse(baseUrl)?.hostname ?? '';
    // What is no address is refused with the other rules of targets.
    if (hostname === '') continue;
    const approval = await approveHost(hostname);
    if (approval.outcome !== 'approved') throw badInput(`targets.${at}.baseUrl`, approval.problem);
  }
}

const setAliasPrice: Declaration = (builder) => {
  const input = builder.inputType('AliasPriceInput', {
    description: 'In credits for a million tokens.',
    fields: (t) => ({
      prompt: t.float({ required: true }),
      cached: t.float({ required: true }),
      completion: t.float({ required: true }),
    }),
  });
  builder.mutationField('setAliasPrice', (t) =>
    t.field({
      type: 'AliasPrice',
      description:
        'What an alias costs, from now on or from a moment to come. Calls keep the price they began under.',
      authScopes: { superAdmin: true },
      args: {
        alias: t.arg.string({ required: true }),
        price: t.arg({ type: input, required: true }),
        from: t.arg({ type: 'DateTime', description: 'Left out: now.' }),
      },
      async resolve(_root, args, context) {
        const { secrets, aliasPrefix: prefix } = context.parts;
        const alias = bounded('line', 'alias', args.alias);
        if (nameOfAlias(prefix, alias) === null) throw notFound('model alias');
        const { prompt, cached, completion } = args.price;
        return await recordedChange(context, async ({ database, sharedState, record }) => {
          const wanted = { alias, price: { prompt, cached, completion }, from: args.from ?? null };
          const set = await setPrice({ database, sharedState, secrets, prefix }, wanted);
          if (set.outcome !== 'changed') {
            throw badInput(set.outcome === 'wrong-time' ? 'from' : 'price', set.problem);
          }
          const { inForceFromMs } = set.version;
          const details = { prompt, cached, completion, from: new Date(inForceFromMs).toISOString() };
          const object = { objectKind: 'model-alias', objectId: alias, companyId: null };
          await record({ action: 'alias.price-set', ...object, details });
          return set.version;
        });
      },
    }),
  );
};

function declared(prefix: string, alias: string): { name: AliasName; kind: string; alias: string } {
  const found = ALIAS_NAMES.find(({ name }) => aliasOf(prefix, name) === alias);
  if (found === undefined) throw notFound('model alias');
  return { ...found, alias };
}

export const modelAliasDeclarations: readonly Declaration[] = [
  modelAliasObjects,
  modelAliases,
  setAliasTargets,
  setAliasPrice,
];
