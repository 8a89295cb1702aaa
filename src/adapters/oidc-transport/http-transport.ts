import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { OidcTransport } from '../../ports/oidc-transport.ts';
import { type ApproveHost, lookupIn, type UsesProxy } from '../../ports/outgoing-addresses.ts';

interface OidcTransportParts {
  /** The configured issuer. Its host needs no approval; hosts named in its documents do. */
  readonly issuer: string;
  /** Null if any host may be called. */
  readonly approveHost: ApproveHost | null;
  /** Null if there is no HTTP proxy. */
  readonly usesProxy: UsesProxy | null;
}

interface Sent {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

interface Answer {
  readonly status: number;
  readonly body: AsyncIterable<Uint8Array<ArrayBuffer>>;
}

const TIMEOUT_MS = 10_000;
const LARGEST_ANSWER_BYTES = 1024 * 1024;
const JSON_TYPE = { accept: 'application/json' };
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' };

/**
 * Redirects are errors: one would send the client's secret and the code to another host. Hosts that a document names are
 * connected to at their approved addresses, so that the owner of a name cannot return others the second time. What a proxy
 * carries is left to the runtime's fetch.
 */
export function createOidcTransport({ issuer, approveHost, usesProxy }: OidcTransportParts): OidcTransport {
  const own = new URL(issuer).host;

  async function request(address: string, sent: Sent): Promise<Answer> {
    const url = new URL(address);
    if (approveHost === null || url.host === own) return await byFetch(url, sent);
    const approval = await approveHost(url.hostname);
    if (approval.outcome !== 'approved') throw new Error(approval.problem);
    if (usesProxy?.(url) === true) return await byFetch(url, sent);
    return await toAddresses(url, approval.addresses, sent);
  }

  return {
    async getJson(url) {
      const answer = await request(url, { method: 'GET', headers: JSON_TYPE });
      if (answer.status < 200 || answer.status > 299)
        throw new Error(`${new URL(url).host} answered ${answer.status}`);
      return await boundedJson(answer);
    },
    async postForm(url, form, headers) {
      const body = new URLSearchParams(form).toString();
      const sent = { method: 'POST', body, headers: { ...JSON_TYPE, ...FORM_TYPE, ...headers } } as const;
      const answer = await request(url, sent);
      return { status: answer.status, body: await boundedJson(answer) };
    },
  };
}

async function byFetch(url: URL, sent: Sent): Promise<Answer> {
  const { status, body } = await fetch(url, {
    ...{ ...sent, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) },
  });
  return { status, body: body ?? new Blob([]).stream() };
}

async function toAddresses(
  url: URL,
  addresses: readonly string[],
  { method, headers, body = '' }: Sent,
): Promise<Answer> {
  const options = {
    ...{
      method,
      agent: false as const,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      lookup: lookupIn(addresses),
    },
    headers: { ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' },
  };
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = (url.protocol === 'https:' ? requestHttps : requestHttp)(url, options, resolve);
    request.on('error', reject);
    request.end(body);
  });
  return { status: answer.statusCode ?? 0, body: answer };
}

async function boundedJson({ body }: Answer): Promise<unknown> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > LARGEST_ANSWER_BYTES) throw new Error('the identity provider answered with too many bytes');
    chunks.push(chunk);
  }
  return JSON.parse(await new Blob(chunks).text());
}
