import type { AliasParams } from '../domain/models/change-alias.ts';
import type { AliasToolsParams } from '../domain/models/hosted-tools.ts';
import { DEFAULT_PROVIDER, PROVIDER_NAMES, providerPreset } from '../domain/models/providers.ts';
import type { TargetParams } from '../domain/models/target.ts';
import { factorsByField } from '../domain/models/tiers/price-factors.ts';
import type { TokenPriceParams } from '../domain/models/token-price.ts';
import { readOptions } from './command.ts';

export const SET_ALIAS_USAGE = `ALIAS --provider NAME --model MODEL [--url BASE_URL] [--key-file /PATH] [--api-version V]
    [--header NAME=VALUE]… [--responses on|off] [--weight N] [--timeout-ms N] [--idle-timeout-ms N]
    [--max-in-flight N] [--cost-prompt C --cost-cached C --cost-completion C [--cost-cache-write C]] [--add] [--no-test] [--suggested]
  or: turnpike set-alias ALIAS BASE_URL MODEL [--key-file /PATH] [--weight N] [--add] [--no-test]
  or: turnpike set-alias ALIAS --embedded
  or: turnpike set-alias ALIAS [--tool NAME=CREDITS]… [--no-tools] [--max-tool-uses N] [--provider-id ID]… [--no-provider-ids]
  or: turnpike set-alias ALIAS, with any of the options below alone or beside a provider:
    [--context-length N] [--max-output-tokens N] [--enforce-max-output on|off] [--strategy order|weight|latency] [--retries N]
    [--cache-breakpoints on|off] [--drop FIELD]… [--no-drop] [--retry-status N]… [--fallback ALIAS|none]
    [--fallback-price requested|served] [--hedge-ms N|none] [--byok-fee-percent N|none]
    [--price-factor service_tier|speed|inference_geo|modalities|prompt_tokens|long_prompt_completion|cache_write=VALUE:FACTOR]…
    [--price-factor none]
  A new name needs --kind chat|extract|embed and --prompt C --cached C --completion C [--cache-write C], in credits for a
  million tokens. A name that was retired is in use again with the same kind.
  NAME is one of ${PROVIDER_NAMES}; turnpike providers describes them.
  With --suggested the context length and the maximum output are those of the catalogue of well-known models (turnpike models).
  One test call is made to a new target, and nothing is saved where it fails; --no-test saves without it.`;

export interface ToolChange {
  readonly alias: string;
  readonly tools: AliasToolsParams;
}

export interface AliasChange {
  readonly alias: string;
  /** Null selects the embedded models; undefined keeps the targets. */
  readonly target: TargetParams | null | undefined;
  readonly keyFile: string | null;
  readonly isAdded: boolean;
  readonly isTested: boolean;
  /** Whether figures from the catalogue of well-known models are used if none are given. */
  readonly isSuggested: boolean;
  /** All other settings of the alias. With a kind, a new alias can be added. */
  readonly settings: Omit<AliasParams, 'alias' | 'targets'>;
}

type AliasOptions = NonNullable<ReturnType<typeof readOptions<typeof OPTIONS>>>['values'];

/** Null if the arguments cannot be parsed; a sentence if one of the options is invalid. */
export function readAliasChange(words: readonly string[]): AliasChange | ToolChange | string | null {
  const typed = readOptions(words, OPTIONS, 3);
  if (typed === null) return null;
  const { values, positionals } = typed;
  const [alias, ...rest] = positionals;
  if (alias === undefined) return null;
  const toolChange = readToolChange(alias, values);
  if (toolChange !== null) {
    const isAlone = rest.length === 0 && values.provider === undefined && values.embedded !== true;
    return isAlone ? toolChange : 'Set tools in a command of their own, without a provider.';
  }
  const settings = readSettings(values);
  if (typeof settings === 'string') return settings;
  const keyFile = values['key-file'] ?? null;
  const plain = { alias, keyFile, settings, isAdded: false, isTested: false, isSuggested: false };
  const isByProvider = values.provider !== undefined;
  const isAlone = rest.length === 0 && TARGET_OPTIONS.every((name) => values[name] === undefined);
  if (values.embedded === true) return isAlone ? { ...plain, target: null } : null;
  const isSettled = Object.values(settings).some((value) => value !== undefined);
  if (isAlone) return isSettled ? { ...plain, target: undefined } : null;
  if (isByProvider ? rest.length > 0 || values.model === undefined : rest.length !== 2) return null;
  const target = readTarget(values, rest, keyFile);
  if (typeof target === 'string') return target;
  const isTested = values['no-test'] !== true;
  return { ...plain, target, isAdded: values.add === true, isTested, isSuggested: values.suggested === true };
}

function readTarget(
  values: AliasOptions,
  [url, model]: readonly string[],
  keyFile: string | null,
): TargetParams | string {
  const provider = values.provider ?? DEFAULT_PROVIDER;
  const known = providerPreset(provider);
  if (known === null) return `There is no provider ${provider}. Use one of ${PROVIDER_NAMES}.`;
  const baseUrl = url ?? values.url ?? known.baseUrl;
  if (baseUrl === null) return `${known.title} has no address of its own: give it with --url.`;
  if (known.needsKey && values.provider !== undefined && keyFile === null) {
    return `${known.title} needs a key: write it to a file and give it with --key-file /PATH.`;
  }
  const headers = headersIn(values.header ?? []);
  if (headers === null) return '--header is written NAME=VALUE';
  const responses = onOrOff(values.responses);
  if (responses === 'wrong') return '--responses is on or off';
  const cost = priceIn(
    values['cost-prompt'],
    values['cost-cached'],
    values['cost-completion'],
    values['cost-cache-write'],
  );
  if (cost === 'incomplete') return 'Give --cost-prompt, --cost-cached and --cost-completion together.';
  return {
    ...{ baseUrl, provider, headers, apiKey: null, cost: cost ?? null },
    responses: responses ?? null,
    model: model ?? values.model ?? '',
    weight: Number(values.weight ?? '1'),
    apiVersion: values['api-version'] ?? null,
    timeoutMs: numberIn(values['timeout-ms']) ?? null,
    idleTimeoutMs: numberIn(values['idle-timeout-ms']) ?? null,
    maxInFlight: numberIn(values['max-in-flight']) ?? null,
  };
}

/** Options that are not given are undefined; a sentence if one is invalid. The domain validates numbers. */
function readSettings(values: AliasOptions): AliasChange['settings'] | string {
  const { prompt, cached, completion, 'cache-write': cacheWrite } = values;
  const price = priceIn(prompt, cached, completion, cacheWrite);
  if (price === 'incomplete') return 'Give --prompt, --cached and --completion together.';
  const enforceMaxOutput = onOrOff(values['enforce-max-output']);
  if (enforceMaxOutput === 'wrong') return '--enforce-max-output is on or off';
  const cacheBreakpoints = onOrOff(values['cache-breakpoints']);
  if (cacheBreakpoints === 'wrong') return '--cache-breakpoints is on or off';
  const priceFactors = factorsIn(values['price-factor']);
  if (priceFactors === 'wrong') return '--price-factor is written FIELD=VALUE:FACTOR, or none';
  const { kind, strategy, fallback, 'hedge-ms': hedge, 'byok-fee-percent': fee } = values;
  return {
    ...{ kind, strategy, price, priceFactors, enforceMaxOutput, cacheBreakpoints },
    drop: values['no-drop'] === true ? [] : values.drop,
    fallback: fallback === 'none' ? null : fallback,
    fallbackPrice: values['fallback-price'],
    hedgeMs: hedge === 'none' ? null : numberIn(hedge),
    byokFeePercent: fee === 'none' ? null : numberIn(fee),
    retries: numberIn(values.retries),
    retryStatuses: values['retry-status']?.map(Number),
    contextLength: numberIn(values['context-length']),
    maxOutputTokens: numberIn(values['max-output-tokens']),
  };
}

/** Null if no option is about tools; a sentence if one is invalid. */
function readToolChange(alias: string, values: AliasOptions): ToolChange | string | null {
  const { tool, 'no-tools': noTools, 'max-tool-uses': most } = values;
  const { 'provider-id': ids, 'no-provider-ids': noIds } = values;
  if ([tool, noTools, most, ids, noIds].every((one) => one === undefined)) return null;
  const named = (tool ?? []).map((one) => /^([^=]+)=(.+)$/.exec(one));
  if (named.some((match) => match === null)) return '--tool is written NAME=CREDITS, for one use';
  const prices = Object.fromEntries(named.map((match) => [match?.[1] ?? '', match?.[2] ?? '']));
  return {
    alias,
    tools: {
      tools: tool === undefined && noTools !== true ? undefined : prices,
      maxUses: most === undefined ? undefined : Number(most),
      providerIds: noIds === true ? [] : ids,
    },
  };
}

function priceIn(
  prompt: string | undefined,
  cached: string | undefined,
  completion: string | undefined,
  cacheWrite: string | undefined,
): TokenPriceParams | undefined | 'incomplete' {
  if (prompt !== undefined && cached !== undefined && completion !== undefined) {
    return { prompt, cached, completion, cacheWrite };
  }
  return [prompt, cached, completion, cacheWrite].every((one) => one === undefined)
    ? undefined
    : 'incomplete';
}

function factorsIn(given: readonly string[] | undefined): AliasParams['priceFactors'] | 'wrong' {
  if (given === undefined) return undefined;
  if (given.length === 1 && given[0] === 'none') return null;
  const read = given.map((one) => /^([^=]+)=([^:]+):(.+)$/.exec(one));
  if (read.some((match) => match === null)) return 'wrong';
  return factorsByField(
    read.map((match) => ({ field: match?.[1] ?? '', value: match?.[2] ?? '', factor: Number(match?.[3]) })),
  );
}

function numberIn(given: string | undefined): number | undefined {
  return given === undefined ? undefined : Number(given);
}

function headersIn(given: readonly string[]): Readonly<Record<string, string>> | null {
  const headers: Record<string, string> = {};
  for (const one of given) {
    const equals = one.indexOf('=');
    if (equals < 1) return null;
    headers[one.slice(0, equals)] = one.slice(equals + 1);
  }
  return headers;
}

function onOrOff(given: string | undefined): boolean | undefined | 'wrong' {
  if (given === undefined) return undefined;
  return given === 'on' ? true : given === 'off' ? false : 'wrong';
}

const text = { type: 'string' } as const;
const flag = { type: 'boolean' } as const;
const several = { type: 'string', multiple: true } as const;

const OPTIONS = {
  ...{ provider: text, model: text, url: text, 'key-file': text, 'api-version': text, header: several },
  ...{ responses: text, weight: text, add: flag, embedded: flag, 'no-test': flag, suggested: flag },
  ...{ 'timeout-ms': text, 'idle-timeout-ms': text, 'max-in-flight': text },
  ...{ 'cost-prompt': text, 'cost-cached': text, 'cost-completion': text, 'cost-cache-write': text },
  ...{
    tool: several,
    'no-tools': flag,
    'max-tool-uses': text,
    'provider-id': several,
    'no-provider-ids': flag,
  },
  ...{ kind: text, prompt: text, cached: text, completion: text, 'cache-write': text },
  ...{ 'context-length': text, 'max-output-tokens': text, 'enforce-max-output': text },
  ...{ 'cache-breakpoints': text, drop: several, 'no-drop': flag },
  ...{ strategy: text, retries: text, 'retry-status': several, fallback: text, 'hedge-ms': text },
  ...{ 'fallback-price': text },
  ...{ 'byok-fee-percent': text, 'price-factor': several },
} as const;

/** Options that apply only to a target. */
const TARGET_OPTIONS = [
  ...([
    'provider',
    'model',
    'url',
    'key-file',
    'api-version',
    'header',
    'responses',
    'weight',
    'add',
  ] as const),
  ...(['no-test', 'suggested', 'timeout-ms', 'idle-timeout-ms', 'max-in-flight'] as const),
  ...(['cost-prompt', 'cost-cached', 'cost-completion', 'cost-cache-write'] as const),
];
