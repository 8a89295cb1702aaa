import {
  bodyWithin,
  type ProviderError,
  readProviderError,
  withoutKey,
} from '../../domain/model-calls/provider-error.ts';
import type { NoteBroken } from '../../domain/model-calls/try-target.ts';
import type { Tried } from '../../domain/model-calls/try-targets.ts';
import type { Alias } from '../../domain/models/aliases.ts';
import { RATE_LIMITED_MS } from '../../domain/models/target-cooling.ts';
import { gatherBody } from '../../http/read-body.ts';
import type { Clock } from '../../ports/clock.ts';
import type { UpstreamAnswer, UpstreamTarget } from '../../ports/model-upstream.ts';
import { ownKeyFailure } from '../admission/own-keys.ts';
import { REFUSALS, type Refusal } from '../admission/refusals.ts';

const MOST_ERROR_BYTES = 64 * 1024;
const ERROR_BODY_MS = 5_000;

/** A provider's refusal of the request (G-36): its message and code in our envelope, provider names replaced. */
export async function passedOn(
  alias: string,
  target: UpstreamTarget,
  answer: UpstreamAnswer,
  clock: Pick<Clock, 'uptimeMs'>,
): Promise<Refusal> {
  const body = bodyWithin(answer.body, ERROR_BODY_MS, clock);
  const gathered = await gatherBody(body, { maxBytes: MOST_ERROR_BYTES, idleMs: ERROR_BODY_MS });
  const text = gathered.outcome === 'whole' ? new TextDecoder().decode(gathered.bytes) : '';
  return refusalOfText(alias, target, answer.status, text);
}

/** The same for an error that is read already. */
export function refusalOfText(alias: string, target: UpstreamTarget, status: number, text: string): Refusal {
  return ofRequest(alias, target, status, readProviderError(withoutKey(text, target)));
}

/** No target answered. */
export function unavailable(
  tried: Extract<Tried<unknown>, { outcome: 'failed' | 'not-tried' }>,
  { ownKey }: Pick<Alias, 'ownKey'>,
): Refusal {
  const { retryAfterMs } = tried;
  if (ownKey !== undefined && tried.outcome === 'failed') {
    const refusal = ownKeyFailure(tried, RATE_LIMITED_MS);
    if (refusal !== null) return refusal;
  }
  if (tried.outcome === 'failed' && tried.cause === 'rate-limit') {
    return { name: 'providerRateLimited', retryAfterMs: retryAfterMs ?? RATE_LIMITED_MS };
  }
  if (tried.outcome === 'failed' && tried.cause === 'local') return NO_CONNECTION;
  // A target that names a wait may well answer after it.
  if (tried.outcome === 'failed' && tried.limitMs !== null && retryAfterMs === null) {
    return timedOut(`The model did not begin to answer within ${secondsOf(tried.limitMs)}`);
  }
  if (tried.outcome === 'failed' && tried.cause === 'refused') return REFUSED_BY_PROVIDER;
  if (tried.outcome === 'not-tried' && retryAfterMs === null) return NO_TARGET;
  return { name: 'unavailable', ...(retryAfterMs === null ? {} : { retryAfterMs }) };
}

/** The model was silent for as long as it may be, before or within an answer. */
export function silentFor(idleMs: number): Refusal {
  return timedOut(`The model sent nothing for ${secondsOf(idleMs)} and did not complete the answer`);
}

/** Clients would repeat a call that has run for minutes, and pay for its wait again. */
function timedOut(what: string): Refusal {
  return { name: 'unavailable', message: `${what}: ${TIME_LIMIT}`, shouldRetry: false };
}

const TIME_LIMIT =
  'this is the time limit of the gateway. Ask for less in one call, or stream the answer. The operator of the gateway can raise the limit.';

function secondsOf(ms: number): string {
  return `${Math.round(ms) / 1_000} seconds`;
}

const REFUSED_BY_PROVIDER: Refusal = {
  name: 'unavailable',
  message:
    'The provider of this model refuses the gateway’s calls. The operator of the gateway has to correct its key, account or model name; retrying does not help until then.',
  shouldRetry: false,
};

const NO_TARGET: Refusal = {
  name: 'unavailable',
  message:
    'This model has no provider. The operator of the gateway has to add one, with “turnpike set-alias” or on the Models page of the console; retrying does not help until then.',
  shouldRetry: false,
};

/** Short, because a descriptor is free again as soon as a call has ended, and another process may have some. */
const NO_CONNECTION: Refusal = {
  name: 'unavailable',
  message: 'The gateway cannot open another connection right now. Retry shortly.',
  retryAfterMs: 1_000,
  closes: true,
};

const REFUSED_OWN_KEY: Refusal = {
  name: 'providerKeyRefused',
  message:
    'The provider of this model refused your company’s own key. Check the key and its account. A company admin replaces it under Provider keys in the console.',
};

/** What an error is for the provider's breaker and for its target; null where the request is at fault. */
type ErrorResult = Exclude<Parameters<NoteBroken>[0], 'late'>;

/** An error with a success status: instead of an answer, or as an event of a stream. */
export function refusalInAnswer(
  { alias, ownKey }: Pick<Alias, 'alias' | 'ownKey'>,
  target: UpstreamTarget,
  text: string,
  otherwise: Refusal = { name: 'unavailable' },
): { readonly refusal: Refusal; readonly result: ErrorResult | null } {
  const error = readProviderError(withoutKey(text, target));
  switch (error.fault) {
    case 'request':
      return { refusal: ofRequest(alias, target, 400, error), result: null };
    case 'rate-limit':
      return { refusal: { name: 'providerRateLimited', retryAfterMs: RATE_LIMITED_MS }, result: 429 };
    case 'account':
      // A company's own key says nothing about the provider, and neither does the operator's.
      return { refusal: ownKey === undefined ? otherwise : REFUSED_OWN_KEY, result: 401 };
    case 'overloaded':
      return { refusal: otherwise, result: 529 };
    case 'provider':
      return { refusal: otherwise, result: 'broken-off' };
  }
}

function ofRequest(
  alias: string,
  target: UpstreamTarget,
  status: number,
  { message, param, code }: ProviderError,
): Refusal {
  return {
    name: 'invalidRequest',
    status,
    message:
      message === null
        ? `The model refused the request with status ${status}.`
        : withoutProviderNames(message, target, alias),
    param: param === null ? null : withoutProviderNames(param, target, alias),
    code: code === null || OUR_CODES.has(code) ? null : withoutProviderNames(code, target, alias),
  };
}

/** Clients match on these, so a provider must not be able to send them. */
const OUR_CODES: ReadonlySet<string> = new Set(Object.values(REFUSALS).flatMap(({ code }) => code ?? []));

/** The operator's organizations and projects, as OpenAI (`org-…`, `proj_…`) and Groq (`org_…`) name them in errors. */
const ACCOUNT_ID = /\b(?:org[-_]|proj_)[A-Za-z0-9]{16,}\b/g;

/**
 * Models are addressed by alias only (G-16): the provider's model name, its addresses and the operator's account do not reach
 * a client. Errors also link to the provider's other hosts, such as console.groq.com beside api.groq.com.
 */
export function withoutProviderNames(text: string, target: UpstreamTarget, alias: string): string {
  const url = target.baseUrl === null ? null : URL.parse(target.baseUrl);
  let clean = text.replaceAll(target.model, alias).replace(ACCOUNT_ID, '[redacted]');
  if (target.baseUrl !== null) clean = clean.replaceAll(target.baseUrl, 'the model');
  if (url !== null) clean = clean.replaceAll(url.host, 'the model').replace(HOST_NAMES, namesOther(url));
  return withoutKey(clean, target);
}

const HOST_NAMES = /(?:https?:\/\/)?\b[a-z0-9-]+(?:\.[a-z0-9-]+)+\b(?:\/[^\s`'"<>)]*)?/gi;

const ADDRESS = /:|\.\d+$/;

/** For each host name of a text, with what follows it in a URL: replaced if it is in the domain of the provider's host. */
function namesOther({ hostname }: URL): (found: string) => string {
  const labels = hostname.split('.');
  const domain = labels.length < 3 || ADDRESS.test(hostname) ? hostname : labels.slice(1).join('.');
  return (found) => {
    const named = URL.parse(/^https?:/i.test(found) ? found : `http://${found}`)?.hostname ?? '';
    return named === domain || named.endsWith(`.${domain}`) ? 'the model' : found;
  };
}
