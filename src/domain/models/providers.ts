import type {
  ModelEndpoint,
  ReasoningCount,
  TargetWire,
  UpstreamTarget,
} from '../../ports/model-upstream.ts';

/** A type of provider: its address, its endpoints and its request format. */
export interface ProviderPreset {
  readonly name: string;
  readonly title: string;
  /** Null if each operator has their own address. */
  readonly baseUrl: string | null;
  readonly endpoints: readonly ModelEndpoint[];
  readonly keyHeader: TargetWire['keyHeader'];
  /** Whether it refuses calls without a key. */
  readonly needsKey: boolean;
  readonly maxTokensName: TargetWire['maxTokensName'];
  readonly hasStreamOptions: boolean;
  readonly reasoning: ReasoningCount;
  /** Sent if the client sent no header of that name. */
  readonly defaultHeaders: Readonly<Record<string, string>>;
  /** What an operator must know to configure it, in one line. */
  readonly note: string;
}

const CHAT: readonly ModelEndpoint[] = ['chat/completions'];
const CHAT_AND_EMBEDDINGS: readonly ModelEndpoint[] = ['chat/completions', 'embeddings'];
const COMPATIBLE: readonly ModelEndpoint[] = ['chat/completions', 'completions', 'embeddings'];
const BESIDE_RESPONSES: readonly ModelEndpoint[] = ['responses/input_tokens', 'responses/compact'];
const OPENAI: readonly ModelEndpoint[] = [...COMPATIBLE, 'responses', ...BESIDE_RESPONSES];

export const DEFAULT_PROVIDER = 'openai';

type PresetFacts = Pick<ProviderPreset, 'name' | 'title' | 'baseUrl' | 'note'> & Partial<ProviderPreset>;

function preset(facts: PresetFacts): ProviderPreset {
  return {
    endpoints: COMPATIBLE,
    keyHeader: 'authorization',
    needsKey: true,
    maxTokensName: 'max_tokens',
    hasStreamOptions: true,
    reasoning: 'by-numbers',
    defaultHeaders: {},
    ...facts,
  };
}

export const PROVIDER_PRESETS: readonly ProviderPreset[] = [
  preset({
    name: DEFAULT_PROVIDER,
    title: 'OpenAI',
    baseUrl: 'https://api.openai.com/v1',
    endpoints: OPENAI,
    maxTokensName: 'max_completion_tokens',
    note: 'The default. For a compatible server without the Responses API, use the preset compatible.',
  }),
  preset({
    name: 'anthropic',
    title: 'Anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    endpoints: ['messages', 'messages/count_tokens'],
    keyHeader: 'x-api-key',
    defaultHeaders: { 'anthropic-version': '2023-06-01' },
    note: 'Uses the Messages API. Chat completions and Responses are translated.',
  }),
  preset({
    name: 'azure',
    title: 'Azure OpenAI',
    baseUrl: null,
    endpoints: OPENAI,
    keyHeader: 'api-key',
    maxTokensName: 'max_completion_tokens',
    note: 'Address https://NAME.openai.azure.com with an API version, and the deployment as model; or an address that ends in /openai/v1 without one.',
  }),
  preset({
    name: 'gemini',
    title: 'Google Gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    endpoints: CHAT_AND_EMBEDDINGS,
    reasoning: 'in-total',
    note: 'The OpenAI-compatible endpoint of the Gemini API. It reports no usage of embeddings, so they are not charged.',
  }),
  preset({
    name: 'bedrock',
    title: 'Amazon Bedrock',
    baseUrl: 'https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1',
    endpoints: CHAT,
    note: 'The OpenAI-compatible endpoint, with a Bedrock API key. Other regions: give the address.',
  }),
  preset({
    name: 'mistral',
    title: 'Mistral',
    baseUrl: 'https://api.mistral.ai/v1',
    endpoints: CHAT_AND_EMBEDDINGS,
    // Its streams end with usage even if not requested, and it rejects unknown fields.
    hasStreamOptions: false,
    note: 'Streams carry usage without stream_options.',
  }),
  preset({
    name: 'groq',
    title: 'Groq',
    baseUrl: 'https://api.groq.com/openai/v1',
    endpoints: CHAT,
    maxTokensName: 'max_completion_tokens',
    note: 'Chat completions.',
  }),
  preset({
    name: 'xai',
    title: 'xAI',
    baseUrl: 'https://api.x.ai/v1',
    endpoints: CHAT,
    maxTokensName: 'max_completion_tokens',
    reasoning: 'beside',
    note: 'Chat completions. It counts reasoning beside the completion; both are charged.',
  }),
  preset({
    name: 'openrouter',
    title: 'OpenRouter',
    baseUrl: 'https://openrouter.ai/api/v1',
    endpoints: ['chat/completions', 'completions'],
    note: 'Models are named VENDOR/MODEL.',
  }),
  preset({
    name: 'ollama',
    title: 'Ollama',
    baseUrl: 'http://127.0.0.1:11434/v1',
    needsKey: false,
    note: 'A local server; no key.',
  }),
  preset({
    name: 'vllm',
    title: 'vLLM',
    baseUrl: 'http://127.0.0.1:8000/v1',
    needsKey: false,
    note: 'A local server; a key only where it was started with one.',
  }),
  preset({
    name: 'compatible',
    title: 'Any OpenAI-compatible server',
    baseUrl: null,
    needsKey: false,
    note: 'Chat completions, completions and embeddings. Responses and Messages are translated.',
  }),
];

const BY_NAME: ReadonlyMap<string, ProviderPreset> = new Map(
  PROVIDER_PRESETS.map((known) => [known.name, known]),
);

export function providerPreset(name: string): ProviderPreset | null {
  return BY_NAME.get(name) ?? null;
}

export const PROVIDER_NAMES = PROVIDER_PRESETS.map(({ name }) => name).join(', ');

/** A target's provider settings. */
export interface TargetProvider {
  readonly provider: string;
  /** Null: as in the preset. */
  readonly responses: boolean | null;
  readonly apiVersion: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** Whether the target has this endpoint itself. The embedded models have those of a compatible server. */
export function speaks({ baseUrl, wire }: UpstreamTarget, endpoint: ModelEndpoint): boolean {
  return (wire?.endpoints ?? (baseUrl === null ? COMPATIBLE : OPENAI)).includes(endpoint);
}

/** Null if this version does not know the preset. */
export function wireOf(
  { provider, responses, apiVersion, headers, baseUrl }: TargetProvider & { readonly baseUrl: string },
  maxOutputTokens: number,
): TargetWire | null {
  const known = providerPreset(provider);
  if (known === null) return null;
  const { keyHeader, hasStreamOptions, reasoning, defaultHeaders } = known;
  // This default preset is also used for compatible servers, and older ones only know the older name.
  const isCompatible = provider === DEFAULT_PROVIDER && baseUrl !== known.baseUrl;
  const maxTokensName = isCompatible ? 'max_tokens' : known.maxTokensName;
  return {
    provider,
    endpoints: withResponses(known.endpoints, responses),
    keyHeader,
    headers,
    defaultHeaders,
    apiVersion,
    maxTokensName,
    hasStreamOptions,
    reasoning: reasoningAt(baseUrl) ?? reasoning,
    maxOutputTokens,
  };
}

/** These count in the same way under another preset. */
function reasoningAt(baseUrl: string): ReasoningCount | null {
  const counting = PROVIDER_PRESETS.filter((one) => one.reasoning !== 'by-numbers');
  const at = counting.find(
    (one) => one.baseUrl !== null && baseUrl.startsWith(`${new URL(one.baseUrl).origin}/`),
  );
  return at?.reasoning ?? null;
}

/** A server with Responses in addition to its preset's endpoints is not expected to count tokens or to compact. */
function withResponses(endpoints: readonly ModelEndpoint[], responses: boolean | null) {
  if (responses === null || responses === endpoints.includes('responses')) return endpoints;
  if (responses) return [...endpoints, 'responses' as const];
  return endpoints.filter((one) => one !== 'responses' && !BESIDE_RESPONSES.includes(one));
}

const MOST_HEADERS = 16;
const LONGEST_HEADER = 4_096;
const HEADER_NAME = /^[A-Za-z0-9-]{1,64}$/;
const HEADER_VALUE = /^[\x20-\x7e]*$/;
/** Set by the gateway for every request, or by the HTTP client. */
const OWN_HEADERS = new Set([
  ...['authorization', 'x-api-key', 'api-key', 'content-type', 'content-length', 'content-encoding', 'host'],
  ...[
    'connection',
    'keep-alive',
    'transfer-encoding',
    'upgrade',
    'expect',
    'te',
    'trailer',
    'accept-encoding',
  ],
]);

interface ProviderFault {
  readonly field: 'provider' | 'apiVersion' | 'headers';
  readonly problem: string;
}

/** Null if there is no problem. Values are not repeated: a header may contain a secret. */
export function problemWithProvider({
  provider,
  apiVersion,
  headers,
  baseUrl,
}: TargetProvider & { readonly baseUrl: string }): ProviderFault | null {
  const fault = (field: ProviderFault['field'], problem: string): ProviderFault => ({ field, problem });
  if (providerPreset(provider) === null) {
    return fault(
      'provider',
      `there is no provider ${JSON.stringify(provider.slice(0, 50))}: use one of ${PROVIDER_NAMES}`,
    );
  }
  if (apiVersion !== null && !/^[\w.-]{1,40}$/.test(apiVersion)) {
    return fault('apiVersion', 'its API version must be like 2024-10-21');
  }
  if (apiVersion !== null && provider !== 'azure')
    return fault('apiVersion', 'an API version belongs to the provider azure');
  if (provider === 'azure' && apiVersion === null && !baseUrl.endsWith('/v1')) {
    return fault(
      'apiVersion',
      'azure needs an API version (such as 2024-10-21), or an address that ends in /openai/v1',
    );
  }
  const entries = Object.entries(headers);
  if (entries.length > MOST_HEADERS) return fault('headers', `it has more than ${MOST_HEADERS} headers`);
  for (const [name, value] of entries) {
    if (!HEADER_NAME.test(name))
      return fault('headers', 'the name of a header has letters, digits and dashes, at most 64');
    if (OWN_HEADERS.has(name.toLowerCase()))
      return fault('headers', `the header ${name} is set by the gateway itself`);
    if (value.length > LONGEST_HEADER || !HEADER_VALUE.test(value)) {
      return fault(
        'headers',
        `the value of the header ${name} must be at most ${LONGEST_HEADER} visible ASCII characters`,
      );
    }
  }
  return null;
}
