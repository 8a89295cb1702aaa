import type { UpstreamFailure } from '../../ports/model-upstream.ts';

/** What the operating system, the name look-up and TLS say before a single byte of the call was sent. */
const NOT_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EADDRNOTAVAIL',
  'EPROTO',
  'EMFILE',
]);
const ABOUT_CERTIFICATES = /CERT|TLS|SSL|UNABLE_TO/;

/** What is not surely from before the call was sent counts as broken: the provider may have seen it. */
export function reasonOf(error: unknown): UpstreamFailure['reason'] {
  const code = (error as { code?: unknown } | null)?.code;
  if (typeof code !== 'string') return 'broken';
  return NOT_CONNECTED.has(code) || ABOUT_CERTIFICATES.test(code) ? 'connect' : 'broken';
}

const SENTENCES: Record<UpstreamFailure['reason'], string> = {
  connect: 'the provider cannot be reached',
  'first-byte-time-out': 'the provider did not begin to answer in time',
  broken: 'the provider broke off before it answered',
  aborted: 'the call was ended by its caller',
};

/** For the operator: the address stands in the cause, a key nowhere. */
export function upstreamFailure(reason: UpstreamFailure['reason'], cause: unknown): UpstreamFailure {
  const error = new Error(SENTENCES[reason], { cause });
  return Object.assign(error, { name: 'UpstreamFailure' as const, reason });
}
