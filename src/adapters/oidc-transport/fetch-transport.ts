import type { OidcTransport } from '../../ports/oidc-transport.ts';
import type { ApproveHost } from '../../ports/outgoing-addresses.ts';

interface FetchTransportParts {
  /** The configured issuer. Its host needs no approval; hosts named in its documents do. */
  readonly issuer: string;
  /** Null if any host may be called. */
  readonly approveHost: ApproveHost | null;
}

const TIMEOUT_MS = 10_000;
const LARGEST_ANSWER_BYTES = 1024 * 1024;

/** Redirects are errors: one would send the client's secret and the code to another host. */
export function createFetchTransport({ issuer, approveHost }: FetchTransportParts): OidcTransport {
  const own = new URL(issuer).host;

  async function request(url: string, init: RequestInit): Promise<Response> {
    const { host, hostname } = new URL(url);
    if (approveHost !== null && host !== own) {
      const approval = await approveHost(hostname);
      if (approval.outcome !== 'approved') throw new Error(approval.problem);
    }
    return await fetch(url, { ...init, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) });
  }

  return {
    async getJson(url) {
      const answer = await request(url, { headers: { accept: 'application/json' } });
      if (!answer.ok) throw new Error(`${new URL(url).host} answered ${answer.status}`);
      return await boundedJson(answer);
    },
    async postForm(url, form, headers) {
      const body = new URLSearchParams(form);
      const answer = await request(url, {
        ...{ method: 'POST', body, headers: { accept: 'application/json', ...headers } },
      });
      return { status: answer.status, body: await boundedJson(answer) };
    },
  };
}

async function boundedJson(answer: Response): Promise<unknown> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > LARGEST_ANSWER_BYTES) throw new Error('the identity provider answered with too many bytes');
    chunks.push(chunk);
  }
  return JSON.parse(await new Blob(chunks).text());
}
