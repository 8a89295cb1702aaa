import type { AuditDetails } from '../../../domain/audit/audit-log.ts';
import type { FallbackPrice } from '../../../domain/models/aliases.ts';
import {
  type AliasParams,
  createAlias,
  retireAlias,
  updateAlias,
} from '../../../domain/models/change-alias.ts';
import {
  factorsByField,
  factorsInWords,
  type ShownFactor,
} from '../../../domain/models/tiers/price-factors.ts';
import { freshCode } from '../access.ts';
import { badInput, conflict, notFound } from '../errors.ts';
import { bounded, boundedOrNull } from '../input.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';
import { type AliasTargetInput, targetParamsOf, targetsInWords } from './alias-targets.ts';
import { type AliasPriceInput, findModelAlias } from './model-aliases.ts';

declare module '../schema-builder.ts' {
  interface SchemaInputs {
    ModelAliasInput: ModelAliasInput;
    PriceFactorInput: ShownFactor;
  }
}

interface ModelAliasInput {
  alias?: string | null | undefined;
  kind?: string | null | undefined;
  contextLength?: number | null | undefined;
  maxOutputTokens?: number | null | undefined;
  enforceMaxOutput?: boolean | null | undefined;
  cacheBreakpoints?: boolean | null | undefined;
  drop?: string[] | null | undefined;
  strategy?: string | null | undefined;
  retries?: number | null | undefined;
  retryStatuses?: number[] | null | undefined;
  fallback?: string | null | undefined;
  fallbackPrice?: FallbackPrice | null | undefined;
  hedgeMs?: number | null | undefined;
  byokFeePercent?: number | null | undefined;
  priceFactors?: ShownFactor[] | null | undefined;
  price?: AliasPriceInput | null | undefined;
  targets?: AliasTargetInput[] | null | undefined;
}

const input: Declaration = (builder) => {
  builder.inputType('ModelAliasInput', {
    description: 'Omitted fields are unchanged. Null resets to the default.',
    fields: (t) => ({
      alias: t.string({
        description:
          'The name that clients use: letters, digits and . _ - / :, at most 100 characters. It cannot be changed.',
      }),
      kind: t.string({
        description: 'chat, extract or embed. Needed for a new alias; it cannot be changed.',
      }),
      contextLength: t.float({ description: 'Maximum prompt tokens of a call.' }),
      maxOutputTokens: t.float({ description: 'Maximum completion tokens of a call.' }),
      enforceMaxOutput: t.boolean({
        description: 'Whether maxOutputTokens is added to bodies that name no maximum.',
      }),
      cacheBreakpoints: t.boolean({
        description:
          'Whether calls that are translated to Anthropic’s Messages get cache breakpoints. Default: true.',
      }),
      drop: t.stringList({
        description:
          'Top-level fields that the targets do not have: they are removed from bodies. At most 32, and none that says what is asked or bounds the answer.',
      }),
      strategy: t.string({ description: 'Which target is tried first: order, weight or latency.' }),
      retries: t.int({ description: 'Tries beyond one per target, 0 to 10.' }),
      retryStatuses: t.intList({
        description: 'Further statuses that try the next target, 400 to 599.',
      }),
      fallback: t.string({
        description: 'An alias of the same kind that serves calls which no target of this one serves.',
      }),
      fallbackPrice: t.field({
        type: 'FallbackPrice',
        description: 'What a call costs that the fallback serves. Default: REQUESTED.',
      }),
      hedgeMs: t.int({
        description: 'Milliseconds after which a second target is called in parallel with the first.',
      }),
      byokFeePercent: t.float({
        description:
          'What calls with a company’s own provider key cost, in percent of the price, 0 to 100. Null: own keys are not allowed.',
      }),
      priceFactors: t.field({
        type: ['PriceFactorInput'],
        description:
          'The price factors of the provider’s tiers, as a complete list that replaces the current one. Tiers that cost more and have no factor are refused.',
      }),
      price: t.field({
        type: 'AliasPriceInput',
        description: 'Required for a new alias. Takes effect immediately.',
      }),
      targets: t.field({
        type: ['AliasTargetInput'],
        description: 'The complete list; it replaces the current one.',
      }),
    }),
  });
};

const factorInput: Declaration = (builder) => {
  builder.inputType('PriceFactorInput', {
    fields: (t) => ({
      field: t.string({
        required: true,
        description:
          'service_tier, speed, inference_geo, modalities, prompt_tokens, long_prompt_completion or cache_write.',
      }),
      value: t.string({
        required: true,
        description:
          'As the body has it, as priority. For modalities audio, for prompt_tokens the number of tokens above which a prompt costs more, for ' +
          'long_prompt_completion one of these numbers, for cache_write 1h.',
      }),
      factor: t.float({ required: true, description: 'Multiples of the price, 0 to 100.' }),
    }),
  });
};

const changes: Declaration = (builder) => {
  builder.mutationField('createModelAlias', (t) =>
    t.field({
      type: 'ModelAlias',
      description:
        'A new name beside the documented ones, or one that was retired, with the same kind. It is in no list of models of ' +
        'any key; keys without a list may call it.',
      authScopes: { superAdmin: true },
      args: { input: t.arg({ type: 'ModelAliasInput', required: true }) },
      resolve: async (_root, args, context) =>
        await change(context, { how: 'create', alias: args.input.alias ?? '', given: args.input }),
    }),
  );
  builder.mutationField('updateModelAlias', (t) =>
    t.field({
      type: 'ModelAlias',
      description: 'Changes an alias. The change takes effect within a second.',
      authScopes: { superAdmin: true },
      args: {
        alias: t.arg.string({ required: true }),
        input: t.arg({ type: 'ModelAliasInput', required: true }),
        ifVersion: t.arg.string({
          description: 'The version that the change is based on. CONFLICT if the alias has a different one.',
        }),
      },
      async resolve(_root, { alias, input: given, ifVersion }, context) {
        if (given.alias != null && given.alias !== alias) {
          throw badInput('input.alias', 'the name of an alias cannot be changed: create another one');
        }
        return await change(context, { how: 'update', alias, given, ifVersion });
      },
    }),
  );
  builder.mutationField('retireModelAlias', (t) =>
    t.field({
      type: 'ModelAlias',
      description:
        'From now on its calls are refused like those of a model that the key may not call. The keys of its providers are ' +
        'deleted; its prices and its usage stay readable.',
      authScopes: { superAdmin: true },
      args: { alias: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        await freshCode(context);
        const { aliasPrefix } = context.parts;
        const alias = bounded('line', 'alias', args.alias);
        return await recordedChange(context, async ({ database, sharedState, record }) => {
          const retired = await retireAlias({ database, sharedState, prefix: aliasPrefix }, alias);
          if (retired.outcome === 'unknown-alias') throw notFound('model alias');
          if (retired.outcome === 'in-use') throw conflict(retired.problem);
          await record({
            action: 'alias.retired',
            objectKind: 'model-alias',
            objectId: alias,
            companyId: null,
          });
          return await findModelAlias({ database, aliasPrefix }, alias);
        });
      },
    }),
  );
};

interface AliasChange {
  readonly how: 'create' | 'update';
  readonly alias: string;
  readonly given: ModelAliasInput;
  readonly ifVersion?: string | null | undefined;
}

async function change(context: RequestContext, { how, alias: name, given, ifVersion }: AliasChange) {
  await freshCode(context);
  const { secrets, cipher, aliasPrefix } = context.parts;
  const alias = bounded('line', how === 'create' ? 'input.alias' : 'alias', name);
  const params: AliasParams = {
    ...given,
    ...{ alias, ifVersion },
    kind: boundedOrNull('line', 'input.kind', given.kind),
    priceFactors: given.priceFactors == null ? given.priceFactors : factorsByField(given.priceFactors),
    targets:
      given.targets == null ? null : await targetParamsOf(context.parts, given.targets, 'input.targets'),
  };
  return await recordedChange(context, async ({ database, sharedState, record, nothingChanged }) => {
    const parts = { database, sharedState, secrets, cipher, prefix: aliasPrefix };
    const changed = await (how === 'create' ? createAlias : updateAlias)(parts, params);
    if (changed.outcome === 'wrong') {
      const { field, problem, place } = changed;
      if (field === 'version') throw conflict(`${problem[0]?.toUpperCase()}${problem.slice(1)}.`);
      if (field === 'alias' && how === 'update') throw notFound('model alias');
      throw badInput(place == null ? FIELDS[field] : `${FIELDS[field]}.${place}`, problem);
    }
    const object = { objectKind: 'model-alias', objectId: alias, companyId: null };
    const action = how === 'create' ? 'alias.created' : 'alias.changed';
    if (changed.outcome === 'changed') await record({ action, ...object, details: detailsOf(given, params) });
    else nothingChanged();
    return await findModelAlias({ database, aliasPrefix }, alias);
  });
}

/** The input path of each problem. Several limits share one; the message names the field. */
const FIELDS = {
  alias: 'input.alias',
  kind: 'input.kind',
  targets: 'input.targets',
  price: 'input.price',
  bounds: 'input',
  routing: 'input',
  fallback: 'input.fallback',
  byokFeePercent: 'input.byokFeePercent',
  priceFactors: 'input.priceFactors',
  hostedTools: 'input',
} as const;

function detailsOf(
  { price, priceFactors, targets: _, ...given }: ModelAliasInput,
  { targets }: AliasParams,
): AuditDetails {
  const changed = Object.entries(given).filter(([name, value]) => value !== undefined && name !== 'alias');
  return {
    ...Object.fromEntries(changed),
    ...(price == null ? {} : { price: `${price.prompt} ${price.cached} ${price.completion}` }),
    ...(priceFactors === undefined ? {} : { priceFactors: factorsInWords(priceFactors ?? []) }),
    ...(targets == null ? {} : { targets: targetsInWords(targets) }),
  };
}

export const changeAliasDeclarations: readonly Declaration[] = [factorInput, input, changes];
