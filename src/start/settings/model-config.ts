import { z } from 'zod';
import { DEFAULT_PROVIDER, providerPreset } from '../../domain/models/providers.ts';

const LARGEST_BYTES = 1024 * 1024;
/** Any further problems are shown at the next start. */
const MOST_SHOWN = 20;

const price = z.strictObject({
  prompt: z.number().nonnegative(),
  cached: z.number().nonnegative(),
  completion: z.number().nonnegative(),
  cache_write: z.number().nonnegative().optional(),
});

const timeout = z.int().positive().max(3_600_000, 'must be at most 3600000: a time-out is at most an hour');

const givenTarget = z.strictObject({
  /** Defaults to that of the provider's preset. */
  base_url: z.url({ protocol: /^https?$/ }).optional(),
  model: z.string().min(1).max(200),
  api_key: z.string().min(1).max(4_096).optional(),
  api_key_file: z.string().min(1).max(4_096).optional(),
  /** The name of an environment variable. */
  api_key_env: z.string().min(1).max(200).optional(),
  weight: z.number().positive().max(1_000_000).default(1),
  provider: z.string().min(1).max(50).optional(),
  responses: z.boolean().optional(),
  api_version: z.string().min(1).max(40).optional(),
  headers: z.record(z.string().min(1).max(64), z.string().max(4_096)).optional(),
  timeout_ms: timeout.optional(),
  idle_timeout_ms: timeout.optional(),
  max_in_flight: z.int().positive().max(100_000).optional(),
  cost: price.optional(),
});

const alias = z.strictObject({
  targets: z.array(givenTarget).max(32).optional(),
  price: price.optional(),
  kind: z.enum(['chat', 'extract', 'embed']).optional(),
  strategy: z.enum(['order', 'weight', 'latency']).optional(),
  retries: z.int().nonnegative().max(10).optional(),
  retry_statuses: z.array(z.int().min(400).max(599)).max(20).optional(),
  fallback: z.string().min(1).max(100).optional(),
  fallback_price: z.enum(['requested', 'served']).optional(),
  hedge_ms: z.int().positive().max(600_000).optional(),
  context_length: z.int().positive().max(1_000_000_000).optional(),
  max_output_tokens: z.int().positive().max(1_000_000_000).optional(),
  enforce_max_output: z.boolean().optional(),
  cache_breakpoints: z
    .union([z.boolean(), z.enum(['on', 'off']).transform((set) => set === 'on')])
    .optional(),
  drop: z.array(z.string().max(100)).max(100).optional(),
  hosted_tools: z.record(z.string().min(1).max(40), z.number().nonnegative().max(1_000_000)).optional(),
  max_tool_uses: z.int().positive().max(1_000).optional(),
  byok_fee_percent: z.number().min(0).max(100).nullable().optional(),
  price_factors: z
    .record(z.string().min(1).max(40), z.record(z.string().min(1).max(40), z.number().nonnegative().max(100)))
    .nullable()
    .optional(),
  provider_ids: z.array(z.string().min(1).max(200)).max(100).optional(),
});

/** The file that MODEL_CONFIG names: which providers serve an alias, and its price in credits per million tokens. */
const modelConfig = z.strictObject({
  aliases: z.record(z.string().min(1).max(100), alias, 'must be an object of aliases by their names'),
});

type GivenTarget = z.output<typeof givenTarget>;
type GivenAlias = z.output<typeof alias>;

/** With all keys read and all addresses filled in. */
interface ConfiguredTarget extends Omit<GivenTarget, 'api_key_file' | 'api_key_env'> {
  readonly base_url: string;
}

export type ModelConfig = Record<
  string,
  Omit<GivenAlias, 'targets'> & { readonly targets?: readonly ConfiguredTarget[] | undefined }
>;

interface ConfigSources {
  readText(path: string): string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

/** The file's aliases. Problems are added to `problems` without quoting a value, because the file contains keys. */
export function readModelConfig(path: string, sources: ConfigSources, problems: string[]): ModelConfig {
  const complain = (what: string): ModelConfig => {
    problems.push(`MODEL_CONFIG: ${path} ${what}`);
    return {};
  };
  let text: string;
  try {
    text = sources.readText(path);
  } catch {
    return complain('cannot be read: check the path and its permissions');
  }
  if (text.length > LARGEST_BYTES) return complain(`is larger than ${LARGEST_BYTES} bytes`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return complain('is not valid JSON');
  }
  const read = modelConfig.safeParse(parsed);
  if (read.success) return completed(read.data.aliases, sources, (what) => void complain(what));
  for (const { path: at, message } of read.error.issues.slice(0, MOST_SHOWN)) {
    complain(`is wrong at ${at.join('.') || 'its top'}: ${message}`);
  }
  return {};
}

function completed(
  aliases: Readonly<Record<string, GivenAlias>>,
  sources: ConfigSources,
  complain: (what: string) => void,
): ModelConfig {
  const config: ModelConfig = {};
  for (const [name, { targets, ...rest }] of Object.entries(aliases)) {
    const complete: ConfiguredTarget[] = [];
    for (const [at, given] of (targets ?? []).entries()) {
      const target = completedTarget(given, sources);
      if (typeof target === 'string') complain(`is wrong at aliases.${name}.targets.${at}: ${target}`);
      else complete.push(target);
    }
    config[name] = { ...rest, ...(targets === undefined ? {} : { targets: complete }) };
  }
  return config;
}

/** The target, or what is wrong with it, without quoting a value that could be a key. */
function completedTarget(given: GivenTarget, sources: ConfigSources): ConfiguredTarget | string {
  const { api_key, api_key_file, api_key_env, base_url, ...same } = given;
  const ways = [api_key, api_key_file, api_key_env].filter((way) => way !== undefined);
  if (ways.length > 1) return 'give one of api_key, api_key_file and api_key_env';
  const provider = same.provider ?? DEFAULT_PROVIDER;
  const address = base_url ?? providerPreset(provider)?.baseUrl ?? null;
  if (address === null) return `the provider ${provider} needs a base_url`;
  let key = api_key;
  if (api_key_env !== undefined) {
    key = sources.environment[api_key_env]?.trim();
    if (!key) return `the environment variable ${api_key_env} is not set`;
  }
  if (api_key_file !== undefined) {
    try {
      key = sources.readText(api_key_file).trim();
    } catch {
      return `api_key_file ${api_key_file} cannot be read: check the path and its permissions`;
    }
    if (key === '') return `api_key_file ${api_key_file} is empty`;
  }
  return { ...same, base_url: address, ...(key === undefined ? {} : { api_key: key }) };
}
