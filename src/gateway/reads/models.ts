import { creditsAsNumber } from '../../domain/credits/ledger/credit-account.ts';
import type { ApiKey } from '../../domain/keys/api-key.ts';
import { type Alias, type AliasTools, priceAt, type TokenPrice } from '../../domain/models/aliases.ts';
import type { ModelDirectory } from '../../domain/models/model-directory.ts';
import type { Clock } from '../../ports/clock.ts';
import { type Refusal, type RefusedClient, refusalResponse } from '../admission/refusals.ts';
import type { Route } from '../admission/routes.ts';
import type { ClientWire } from '../json/client-wire.ts';

export interface ModelListParts {
  readonly models: ModelDirectory;
  readonly clock: Clock;
}

type ModelRoute = Extract<Route, { kind: 'list-models' | 'one-model' }>;

interface Asking {
  readonly search: URLSearchParams;
  readonly headers: Readonly<Record<string, string>>;
  readonly client: RefusedClient;
}

/** G-4: exactly the aliases that this key may call, in the client's wire format. */
export function answerModels(
  { models, clock }: ModelListParts,
  key: Pick<ApiKey, 'models'>,
  route: ModelRoute,
  { search, headers, client }: Asking,
): Response {
  const isMessages = client.wire === 'messages';
  const shown = (alias: Alias): object => (isMessages ? messagesModelOf(alias) : modelOf(alias, clock.now()));
  const allowed = allowedModels(models, key);
  if (route.kind === 'one-model') {
    const one = allowed.find(({ alias }) => alias === route.alias);
    if (one !== undefined) return Response.json(shown(one), { headers });
    return refusalResponse({ name: 'modelNotAllowed', param: 'model' }, headers, client);
  }
  if (!isMessages) return Response.json({ object: 'list', data: allowed.map(shown) }, { headers });
  const page = messagesPage(allowed, search);
  return 'refusal' in page
    ? refusalResponse(page.refusal, headers, client)
    : Response.json(page.body, { headers });
}

/** What is wrong with the request, or null. */
export function refusalOfModels(
  { models }: Pick<ModelListParts, 'models'>,
  key: Pick<ApiKey, 'models'>,
  route: ModelRoute,
  { search, wire }: { readonly search: URLSearchParams; readonly wire: ClientWire },
): Refusal | null {
  const allowed = allowedModels(models, key);
  if (route.kind === 'one-model') {
    const isAllowed = allowed.some(({ alias }) => alias === route.alias);
    return isAllowed ? null : { name: 'modelNotAllowed', param: 'model' };
  }
  const page = wire === 'messages' ? messagesPage(allowed, search) : null;
  return page !== null && 'refusal' in page ? page.refusal : null;
}

function allowedModels(models: ModelDirectory, key: Pick<ApiKey, 'models'>): readonly Alias[] {
  return models.all().filter(({ alias }) => key.models === null || key.models.includes(alias));
}

/** For the documented aliases, which are older than any key; clients only require some time here. */
const MODELS_CREATED_MS = Date.UTC(2026, 0, 1);

function modelOf(alias: Alias, nowMs: number) {
  const { createdAtMs, contextLength, maxOutputTokens, kind, tools } = alias;
  const slash = alias.alias.indexOf('/');
  const price = priceAt(alias, nowMs);
  return {
    id: alias.alias,
    object: 'model',
    created: Math.floor((createdAtMs ?? MODELS_CREATED_MS) / 1_000),
    owned_by: slash === -1 ? 'system' : alias.alias.slice(0, slash),
    kind,
    context_length: contextLength,
    max_output_tokens: kind === 'embed' ? null : maxOutputTokens,
    pricing: price === null ? null : pricingOf(price),
    ...(tools == null || tools.prices.size === 0 ? {} : { hosted_tools: hostedToolsOf(tools) }),
  };
}

function hostedToolsOf({ prices }: AliasTools) {
  return [...prices].map(([name, priceMicro]) => ({
    name,
    credits_per_use: creditsAsNumber(BigInt(priceMicro)),
  }));
}

function pricingOf({ promptMicro, cachedMicro, completionMicro, cacheWriteMicro }: TokenPrice) {
  return {
    unit: 'credits per million tokens',
    prompt: creditsAsNumber(promptMicro),
    cached: creditsAsNumber(cachedMicro),
    completion: creditsAsNumber(completionMicro),
    cache_write: creditsAsNumber(cacheWriteMicro ?? promptMicro),
  };
}

/** In Anthropic's format. The capabilities of an alias are not known. */
function messagesModelOf({ alias, kind, createdAtMs, contextLength, maxOutputTokens }: Alias) {
  return {
    type: 'model',
    id: alias,
    display_name: alias,
    created_at: new Date(createdAtMs ?? MODELS_CREATED_MS).toISOString(),
    max_input_tokens: contextLength,
    max_tokens: kind === 'embed' ? null : maxOutputTokens,
    capabilities: null,
    ...{ lifecycle: 'active', line: null, deprecated_at: null, retires_at: null },
  };
}

const USUAL_MODELS = 20;
const MOST_MODELS = 1_000;

/**
 * Anthropic's pagination: the models after `after_id` or before `before_id`, and whether there are more in that direction.
 */
function messagesPage(
  allowed: readonly Alias[],
  search: URLSearchParams,
): { readonly refusal: Refusal } | { readonly body: object } {
  const limit = search.get('limit') ?? String(USUAL_MODELS);
  if (!/^\d{1,4}$/.test(limit) || Number(limit) < 1 || Number(limit) > MOST_MODELS) {
    return invalid('limit', `limit is a number from 1 to ${MOST_MODELS}.`);
  }
  const [after, before] = [search.get('after_id'), search.get('before_id')];
  if (after !== null && before !== null) return invalid('before_id', 'Give after_id or before_id, not both.');
  const listed = wantsActive(search) ? allowed : [];
  const cursor = after ?? before;
  const at = cursor === null ? -1 : listed.findIndex(({ alias }) => alias === cursor);
  if (cursor !== null && at === -1) {
    const name = after === null ? 'before_id' : 'after_id';
    return invalid(name, `${name} is the id of a model that this key may call.`);
  }
  const rest = before === null ? listed.slice(at + 1) : listed.slice(0, at);
  const page = before === null ? rest.slice(0, Number(limit)) : rest.slice(-Number(limit));
  const data = page.map(messagesModelOf);
  const [firstId, lastId] = [data[0]?.id ?? null, data.at(-1)?.id ?? null];
  return { body: { data, has_more: page.length < rest.length, first_id: firstId, last_id: lastId } };
}

/** Every alias is active, so a filter for other stages alone returns nothing. */
function wantsActive(search: URLSearchParams): boolean {
  const stages = [...search.getAll('lifecycle'), ...search.getAll('lifecycle[]')];
  return stages.length === 0 || stages.includes('active');
}

function invalid(param: string, message: string): { readonly refusal: Refusal } {
  return { refusal: { name: 'invalidRequest', message, param } };
}
