import type { Clock } from '../../ports/clock.ts';
import type {
  ModelEndpoint,
  ModelUpstream,
  UpstreamCall,
  UpstreamFailure,
  UpstreamTarget,
} from '../../ports/model-upstream.ts';
import type { HostApproval } from '../../ports/outgoing-addresses.ts';

/** What the two clients of providers have in common. */
export interface HttpUpstream extends ModelUpstream {
  /** Closes idle connections. Running calls continue. */
  close(): void;
}

/** Client headers that are never forwarded: they would replace the key or request a compressed answer. */
export function ourHeaders({ apiKey, wire }: UpstreamTarget): Record<string, string> {
  const headers: Record<string, string> = {
    'user-agent': 'turnpike',
    ...lowerCased(wire?.headers),
    'content-type': 'application/json',
    'accept-encoding': 'identity',
  };
  const keyHeader = wire?.keyHeader ?? 'authorization';
  if (apiKey !== null) headers[keyHeader] = keyHeader === 'authorization' ? `Bearer ${apiKey}` : apiKey;
  return headers;
}

/** The client's headers, with the provider's defaults for those it did not send. */
export function callerHeaders(
  headers: Readonly<Record<string, string>>,
  { wire }: UpstreamTarget,
): Readonly<Record<string, string>> {
  if (wire === undefined) return headers;
  // Almost all presets have none, so nothing is copied.
  for (const _ in wire.defaultHeaders) return { ...wire.defaultHeaders, ...lowerCased(headers) };
  return headers;
}

function lowerCased(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

const NOTHING_BELOW = { path: '', query: '' };

/** The URL of a call. Anthropic's base URL may or may not contain the version; Azure's URLs contain the deployment. */
export function addressOf(
  { baseUrl, model, wire }: UpstreamTarget,
  endpoint: ModelEndpoint,
  { path: below, query } = NOTHING_BELOW,
): string {
  if (wire?.apiVersion != null) {
    const resource = baseUrl?.replace(/\/openai$/, '');
    const isNamed = !endpoint.startsWith('responses');
    const path = isNamed ? `deployments/${encodeURIComponent(model)}/${endpoint}` : endpoint;
    const version = `api-version=${encodeURIComponent(wire.apiVersion)}`;
    return `${resource}/openai/${path}${below}?${version}${query === '' ? '' : `&${query}`}`;
  }
  const isUnversioned = wire?.provider === 'anthropic' && baseUrl?.endsWith('/v1') === false;
  return `${baseUrl}${isUnversioned ? '/v1' : ''}/${endpoint}${below}${query === '' ? '' : `?${query}`}`;
}

export function mediaType(header: string | null): string {
  if (header === null) return '';
  // The most common value, without a copy.
  if (header === 'application/json' || header === 'text/event-stream') return header;
  const parameters = header.indexOf(';');
  return (parameters < 0 ? header : header.slice(0, parameters)).trim().toLowerCase();
}

/** A day: a longer wait is an error of the provider, or its monthly quota. */
const LONGEST_WAIT_MS = 86_400_000;

/**
 * The provider's retry delay: `retry-after-ms` (OpenAI, Azure), or else `retry-after` in seconds or as a date. Null if there
 * is none that can be parsed.
 */
export function waitIn(
  retryAfter: string | null,
  retryAfterMs: string | null,
  clock: Pick<Clock, 'now'>,
): number | null {
  const exact = DECIMAL.test(retryAfterMs ?? '') ? Number(retryAfterMs) : null;
  const waitMs = exact ?? (retryAfter === null ? null : waitOf(retryAfter, clock));
  return waitMs === null ? null : Math.min(Math.max(0, Math.ceil(waitMs)), LONGEST_WAIT_MS);
}

const DECIMAL = /^\d{1,12}(\.\d{1,9})?$/;

function waitOf(retryAfter: string, clock: Pick<Clock, 'now'>): number | null {
  if (DECIMAL.test(retryAfter)) return Number(retryAfter) * 1_000;
  const atMs = Date.parse(retryAfter);
  return Number.isNaN(atMs) ? null : atMs - clock.now();
}

const SENTENCES: Record<UpstreamFailure['reason'], string> = {
  connect: 'the provider cannot be reached',
  local: 'this process cannot open a connection right now',
  'first-byte-time-out': 'the provider did not begin to answer in time',
  broken: 'the provider broke off before it answered',
  aborted: 'the call was ended by its caller',
};

/** Why a host may not be called. */
export function refusedHost(approval: Exclude<HostApproval, { outcome: 'approved' }>): UpstreamFailure {
  const reason = approval.outcome === 'local-fault' ? 'local' : 'connect';
  return upstreamFailure(reason, new Error(approval.problem));
}

/** For operators: the cause contains the address, but never a key. */
export function upstreamFailure(
  reason: UpstreamFailure['reason'],
  cause: unknown,
  limitMs?: number,
): UpstreamFailure {
  const error = new Error(SENTENCES[reason], { cause });
  const limit = reason === 'first-byte-time-out' && limitMs !== undefined ? { limitMs } : {};
  return Object.assign(error, { name: 'UpstreamFailure' as const, reason, ...limit });
}

/** From sending a call until its status arrives, for targets without a time-out of their own. */
export interface FirstByteTimeouts {
  readonly wholeMs: number;
  readonly streamMs: number;
}

export const FIRST_BYTE_TIMEOUTS: FirstByteTimeouts = { wholeMs: 600_000, streamMs: 120_000 };

export function firstByteTimeout(
  { timeoutMs }: Pick<UpstreamTarget, 'timeoutMs'>,
  { isStream = false }: Pick<UpstreamCall, 'isStream'>,
  { wholeMs, streamMs }: FirstByteTimeouts,
): number {
  return timeoutMs ?? (isStream ? streamMs : wholeMs);
}
