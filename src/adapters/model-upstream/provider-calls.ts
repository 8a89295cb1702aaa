import type { ModelUpstream, UpstreamFailure, UpstreamTarget } from '../../ports/model-upstream.ts';

/** What the two clients of providers have in common. */
export interface HttpUpstream extends ModelUpstream {
  /** Lets go of idle connections; calls that run go on. */
  close(): void;
}

/** No header of a client takes the place of these: not of the key, and none asks for a compressed answer. */
export function ourHeaders({ apiKey }: UpstreamTarget): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'turnpike',
  };
  if (apiKey !== null) headers.authorization = `Bearer ${apiKey}`;
  return headers;
}

export function mediaType(header: string | null): string {
  if (header === null) return '';
  const parameters = header.indexOf(';');
  return (parameters < 0 ? header : header.slice(0, parameters)).trim().toLowerCase();
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
