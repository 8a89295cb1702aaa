import { creditsAsNumber } from '../../../domain/credits/ledger/credit-account.ts';
import { type TargetTest, testTarget } from '../../../domain/model-calls/test-target.ts';
import { type AliasKind, DEFAULT_BOUNDS, type TokenPrice } from '../../../domain/models/aliases.ts';
import {
  DEFAULT_PROVIDER,
  PROVIDER_NAMES,
  PROVIDER_PRESETS,
  type ProviderPreset,
  providerPreset,
  wireOf,
} from '../../../domain/models/providers.ts';
import type { StoredTarget, TargetParams } from '../../../domain/models/target.ts';
import { openTargetSecrets, sealTargets } from '../../../domain/models/target-secrets.ts';
import {
  checkTargets,
  faultOf,
  MOST_TARGETS,
  readCatalogue,
  setAliasTargets as setTargets,
  TOO_MANY_TARGETS,
} from '../../../domain/models/targets.ts';
import { isObject } from '../../../ports/json-object.ts';
import type { UpstreamTarget } from '../../../ports/model-upstream.ts';
import type { ApproveHost } from '../../../ports/outgoing-addresses.ts';
import { freshCode } from '../access.ts';
import { badInput, notFound } from '../errors.ts';
import { bounded, boundedOrNull } from '../input.ts';
import { recordedChange } from '../recorded-change.ts';
import type { GraphqlParts } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';
import { type AliasPriceInput, findModelAlias } from './model-aliases.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    AliasTarget: StoredTarget;
    AliasTargetTest: TargetTest;
    ProviderPreset: ProviderPreset;
    AliasCost: TokenPrice;
  }
  interface SchemaInputs {
    AliasTargetInput: AliasTargetInput;
  }
}

export interface AliasTargetInput {
  id?: string | null | undefined;
  provider?: string | null | undefined;
  baseUrl?: string | null | undefined;
  model: string;
  apiKey?: string | null | undefined;
  removeKey?: boolean | null | undefined;
  weight?: number | null | undefined;
  responses?: boolean | null | undefined;
  apiVersion?: string | null | undefined;
  headers?: unknown;
  timeoutMs?: number | null | undefined;
  idleTimeoutMs?: number | null | undefined;
  maxInFlight?: number | null | undefined;
  cost?: AliasPriceInput | null | undefined;
}

const objects: Declaration = (builder) => {
  builder.objectType('AliasTarget', {
    fields: (t) => ({
      id: t.exposeID('id'),
      baseUrl: t.exposeString('baseUrl'),
      model: t.exposeString('model'),
      provider: t.exposeString('provider', { description: 'The preset of its provider.' }),
      weight: t.exposeFloat('weight'),
      responses: t.boolean({
        description: 'Whether Responses API calls reach it as they are; others are translated.',
        resolve: ({ provider, responses }) =>
          responses ?? providerPreset(provider)?.endpoints.includes('responses') ?? false,
      }),
      apiVersion: t.exposeString('apiVersion', { nullable: true }),
      headerNames: t.stringList({
        description: 'The names of its extra headers; their values are never shown.',
        async resolve({ baseUrl, sealedKey, sealedHeaders }, _args, { parts }) {
          const stored = { baseUrl, sealedKey: sealedKey && null, sealedHeaders };
          const opened = await openTargetSecrets(parts.cipher, stored).catch(() => null);
          return Object.keys(opened?.headers ?? {});
        },
      }),
      hasKey: t.boolean({ resolve: ({ sealedKey }) => sealedKey !== null }),
      timeoutMs: t.exposeInt('timeoutMs', {
        nullable: true,
        description: 'How long it may take to begin its answer. Null: as the gateway is configured.',
      }),
      idleTimeoutMs: t.exposeInt('idleTimeoutMs', {
        nullable: true,
        description: 'How long it may be silent within its answer. Null: as the gateway is configured.',
      }),
      maxInFlight: t.exposeInt('maxInFlight', {
        nullable: true,
        description: 'Maximum concurrent calls per process. Null: no limit.',
      }),
      cost: t.expose('cost', {
        type: 'AliasCost',
        nullable: true,
        description: 'What it costs at the provider. Null: not known.',
      }),
    }),
  });
  builder.objectType('AliasCost', {
    description: 'In credits for a million tokens.',
    fields: (t) => ({
      prompt: t.float({ resolve: ({ promptMicro }) => creditsAsNumber(promptMicro) }),
      cached: t.float({ resolve: ({ cachedMicro }) => creditsAsNumber(cachedMicro) }),
      completion: t.float({ resolve: ({ completionMicro }) => creditsAsNumber(completionMicro) }),
      cacheWrite: t.float({
        nullable: true,
        description: 'Null: the price of the prompt.',
        resolve: ({ cacheWriteMicro }) => (cacheWriteMicro == null ? null : creditsAsNumber(cacheWriteMicro)),
      }),
    }),
  });
  builder.objectType('AliasTargetTest', {
    fields: (t) => ({
      ok: t.exposeBoolean('ok'),
      status: t.exposeInt('status', { nullable: true, description: 'The provider’s HTTP status.' }),
      latencyMs: t.int({ resolve: ({ latencyMs }) => Math.round(latencyMs) }),
      message: t.exposeString('message', { description: 'What happened and what to do.' }),
    }),
  });
};

const presets: Declaration = (builder) => {
  builder.objectType('ProviderPreset', {
    description: 'A kind of provider that a target may have.',
    fields: (t) => ({
      name: t.exposeString('name'),
      title: t.exposeString('title'),
      baseUrl: t.exposeString('baseUrl', { nullable: true }),
      needsKey: t.exposeBoolean('needsKey'),
      note: t.exposeString('note'),
    }),
  });
  builder.queryField('providerPresets', (t) =>
    t.field({
      type: ['ProviderPreset'],
      description: 'The kinds of providers, in the order to offer them.',
      authScopes: { superAdmin: true },
      resolve: () => [...PROVIDER_PRESETS],
    }),
  );
};

const input: Declaration = (builder) => {
  builder.inputType('AliasTargetInput', {
    fields: (t) => ({
      id: t.id({
        description:
          'The id of an existing target of the alias. Its key, headers, weight, limits and cost are unchanged if omitted.',
      }),
      provider: t.string({ description: 'The preset of its provider; openai where left out.' }),
      baseUrl: t.string({ description: 'Default: the address of the provider’s preset.' }),
      model: t.string({ required: true }),
      apiKey: t.string({ description: 'The provider’s key; stored encrypted and never shown again.' }),
      removeKey: t.boolean({ description: 'True removes the stored key; apiKey is then left out.' }),
      weight: t.float({ description: 'Its weight in load balancing. Default for a new target: 1.' }),
      responses: t.boolean({
        description: 'Whether it speaks the Responses API; as the preset says where left out.',
      }),
      apiVersion: t.string({ description: 'Azure’s, such as 2024-10-21.' }),
      // Any JSON, which Pothos's types of named inputs cannot express; `headersIn` reads it.
      headers: t.field({
        type: 'JSON',
        description: 'An object of names and values, at most 16, sent with every call. Stored encrypted.',
      }) as never,
      timeoutMs: t.int({
        description:
          'How long it may take to begin its answer, at most an hour. Null: as the gateway is configured.',
      }),
      idleTimeoutMs: t.int({
        description:
          'How long it may be silent within its answer, at most an hour. Null: as the gateway is configured.',
      }),
      maxInFlight: t.int({
        description: 'Maximum concurrent calls per process. Null removes the limit.',
      }),
      cost: t.field({
        type: 'AliasPriceInput',
        description: 'What it costs at the provider, in credits for a million tokens. Null removes it.',
      }),
    }),
  });
};

const changes: Declaration = (builder) => {
  builder.mutationField('setAliasTargets', (t) =>
    t.field({
      type: 'ModelAlias',
      description: 'Replaces the targets of the alias. With an empty list, the embedded models serve it.',
      authScopes: { superAdmin: true },
      args: {
        alias: t.arg.string({ required: true }),
        targets: t.arg({ type: ['AliasTargetInput'], required: true }),
      },
      async resolve(_root, args, context) {
        await freshCode(context);
        const { secrets, cipher, aliasPrefix: prefix } = context.parts;
        const alias = bounded('line', 'alias', args.alias);
        const targets = await targetParamsOf(context.parts, args.targets, 'targets');
        return await recordedChange(context, async ({ database, sharedState, record }) => {
          const parts = { database, sharedState, secrets, cipher, prefix };
          const changed = await setTargets(parts, alias, targets);
          if (changed.outcome === 'unknown-alias') throw notFound('model alias');
          if (changed.outcome === 'wrong-target') throw badInput('targets', changed.problem);
          const shown = targetsInWords(targets);
          const object = { objectKind: 'model-alias', objectId: alias, companyId: null };
          await record({ action: 'alias.targets-set', ...object, details: { targets: shown } });
          return await findModelAlias({ database, aliasPrefix: prefix }, alias);
        });
      },
    }),
  );
  builder.mutationField('testAliasTarget', (t) =>
    t.field({
      type: 'AliasTargetTest',
      description:
        'Makes one small call to a target without saving it. The provider bills a few tokens; no company is charged.',
      authScopes: { superAdmin: true },
      args: {
        input: t.arg({ type: 'AliasTargetInput', required: true }),
        alias: t.arg.string({
          description: 'The alias of a target given by its id, and the kind of call. Default: chat.',
        }),
      },
      async resolve(_root, args, context) {
        await freshCode(context);
        const { parts } = context;
        const params = targetParams(args.input, 'input');
        refuseFault(params, 'input');
        await refuseInside(parts.approveHost, params, 'input.baseUrl');
        const alias = boundedOrNull('line', 'alias', args.alias);
        const opened = await openStoredSecrets(parts, params, alias);
        if (opened.outcome === 'wrong') throw badInput('input', opened.problem);
        return await testTarget(
          { upstream: parts.providers, clock: parts.clock },
          opened.target,
          opened.kind,
        );
      },
    }),
  );
};

/** The targets of an input, within their bounds and at addresses that may be called. */
export async function targetParamsOf(
  { approveHost }: Pick<GraphqlParts, 'approveHost'>,
  given: readonly AliasTargetInput[],
  path: string,
): Promise<readonly TargetParams[]> {
  if (given.length > MOST_TARGETS) throw badInput(path, TOO_MANY_TARGETS);
  const targets = given.map((target, at) => targetParams(target, `${path}.${at}`));
  for (const [at, target] of targets.entries()) {
    refuseFault(target, `${path}.${at}`);
    await refuseInside(approveHost, target, `${path}.${at}.baseUrl`);
  }
  return targets;
}

function refuseFault(target: TargetParams, path: string): void {
  const fault = faultOf(target);
  if (fault !== null) throw badInput(`${path}.${fault.field}`, fault.problem);
}

/** For the audit log: the provider and model of each target. */
export function targetsInWords(targets: readonly TargetParams[]): string[] {
  return targets.map(({ baseUrl, model }) => `${new URL(baseUrl).host} ${model}`.slice(0, 200));
}

function targetParams(given: AliasTargetInput, path: string): TargetParams {
  const provider = boundedOrNull('line', `${path}.provider`, given.provider) ?? DEFAULT_PROVIDER;
  const preset = providerPreset(provider);
  if (preset === null) throw badInput(`${path}.provider`, `use one of ${PROVIDER_NAMES}`);
  const baseUrl = boundedOrNull('technical', `${path}.baseUrl`, given.baseUrl) ?? preset.baseUrl;
  if (baseUrl === null) throw badInput(`${path}.baseUrl`, `${preset.title} needs an address`);
  const apiKey = boundedOrNull('technical', `${path}.apiKey`, given.apiKey);
  const removesKey = given.removeKey === true;
  if (removesKey && apiKey !== null)
    throw badInput(`${path}.apiKey`, 'leave it out to remove the stored key');
  const { timeoutMs, idleTimeoutMs, maxInFlight, cost } = given;
  return {
    id: given.id == null ? null : String(given.id),
    provider,
    baseUrl,
    model: bounded('technical', `${path}.model`, given.model),
    ...{ apiKey, removesKey, timeoutMs, idleTimeoutMs, maxInFlight, cost },
    weight: given.weight ?? null,
    responses: given.responses,
    apiVersion:
      given.apiVersion == null ? given.apiVersion : bounded('line', `${path}.apiVersion`, given.apiVersion),
    headers: headersIn(given.headers, `${path}.headers`),
  };
}

function headersIn(given: unknown, path: string): Readonly<Record<string, string>> | undefined {
  if (given === undefined || given === null) return undefined;
  if (!isObject(given) || Object.values(given).some((value) => typeof value !== 'string')) {
    throw badInput(path, 'write an object of names and texts, such as {"x-team": "a"}');
  }
  return { ...(given as Readonly<Record<string, string>>) };
}

/** Checked here as well, so that a mistyped host is reported at once; every call checks again. */
async function refuseInside(
  approveHost: ApproveHost | null,
  { baseUrl }: Pick<TargetParams, 'baseUrl'>,
  path: string,
): Promise<void> {
  if (approveHost === null) return;
  const hostname = URL.parse(baseUrl)?.hostname ?? '';
  // An invalid URL is refused with the other rules of targets.
  if (hostname === '') return;
  const approval = await approveHost(hostname);
  if (approval.outcome !== 'approved') throw badInput(path, approval.problem);
}

/** The target as a call would use it, with the stored key of the target that it names. */
async function openStoredSecrets(
  { database, cipher, secrets, aliasPrefix }: GraphqlParts,
  params: TargetParams,
  alias: string | null,
): Promise<
  { outcome: 'opened'; target: UpstreamTarget; kind: AliasKind } | { outcome: 'wrong'; problem: string }
> {
  const checked = checkTargets([params]);
  if (checked.outcome === 'wrong') return checked;
  const found = alias === null ? null : await findModelAlias({ database, aliasPrefix }, alias);
  const { targets } = await readCatalogue(database);
  const name = found?.name ?? 'chat-default';
  const own = targets.filter((target) => target.alias === name);
  const sealed = await sealTargets({ cipher, secrets }, name, checked.targets, own);
  if (sealed.outcome === 'wrong') return sealed;
  const [target] = sealed.targets;
  if (target === undefined) return { outcome: 'wrong', problem: 'give a target' };
  const kind = found?.kind ?? 'chat';
  const { apiKey, headers } = await openTargetSecrets(cipher, target);
  const wire = wireOf({ ...target, headers }, DEFAULT_BOUNDS[kind].maxOutputTokens);
  const { id, baseUrl, model } = target;
  const opened = { id, baseUrl, model, apiKey, ...(wire === null ? {} : { wire }) };
  return { outcome: 'opened', kind, target: opened };
}

export const aliasTargetDeclarations: readonly Declaration[] = [objects, presets, input, changes];
