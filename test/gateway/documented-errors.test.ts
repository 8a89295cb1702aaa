import { describe, expect, test } from 'bun:test';
import { revokeKey } from '../../src/domain/keys/key-lifecycle.ts';
import type { KeyToMint } from '../../src/domain/keys/mint-key.ts';
import { useResource } from '../setup/use-resource.ts';
import { loseCredits, oweMoney } from './credits-under-test.ts';
import { type GatewayUnderTest, openGateway, refusalOf } from './gateway-under-test.ts';

const SCOPES = ['inference:chat', 'inference:parse', 'usage:read', 'jobs:read'];
const CHAT = { model: 'svc/chat-default', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20 };
const TEXT = {
  text: 'Ada Byron, engineer at Analytical Engines Ltd since 2020.',
  model: 'svc/extract-default',
};

interface Surface {
  readonly scope: string;
  /** Costs credits. */
  readonly isBilled: boolean;
  /** A body that names a model; null where none is read. */
  readonly body: Readonly<Record<string, unknown>> | null;
  /** With another model than the key may call. */
  readonly otherModel?: string;
}

const chat = { scope: 'inference:chat', isBilled: true, body: CHAT, otherModel: 'svc/chat-premium' };
const parse = { scope: 'inference:parse', isBilled: true, body: TEXT, otherModel: 'svc/extract-fast' };
const list = { scope: 'inference:chat', isBilled: false, body: null };
const usage = { scope: 'usage:read', isBilled: false, body: null };
const jobs = { scope: 'jobs:read', isBilled: false, body: null };

/** Every route of the interface. */
const ROUTES: Readonly<Record<string, Surface>> = {
  'POST /chat/completions': chat,
  'POST /completions': { ...chat, body: { model: CHAT.model, prompt: 'Hello', max_tokens: 20 } },
  'POST /embeddings': {
    ...{ ...chat, body: { model: 'svc/embed-default', input: 'Hello' }, otherModel: 'svc/chat-premium' },
  },
  'GET /models': list,
  'GET /usage': usage,
  'GET /jobs': jobs,
  'POST /parse/cv': parse,
  'POST /parse/jd': parse,
};

/** Every tool of the interface. */
const TOOLS: Readonly<Record<string, Surface>> = {
  chat,
  list_models: list,
  get_usage: usage,
  list_jobs: jobs,
  parse_cv: parse,
  parse_jd: parse,
};

/** The models of a key that may not call `otherModel` of any surface. */
const MODELS = ['svc/chat-default', 'svc/extract-default', 'svc/embed-default'];

interface ErrorRow {
  readonly status: number;
  readonly type: string;
  readonly code: string | null;
}

/** The interface's table of errors. A code of null is "none". */
const ERRORS = {
  'no valid key': { status: 401, type: 'authentication_error', code: null },
  'no credits': { status: 402, type: 'insufficient_quota', code: 'INSUFFICIENT_CREDITS' },
  'a model outside the allowlist': { status: 403, type: 'permission_error', code: 'LLM_MODEL_NOT_ALLOWED' },
  'a missing scope': { status: 403, type: 'permission_error', code: 'LLM_SCOPE_DENIED' },
  'an overdue invoice': { status: 403, type: 'permission_error', code: 'PLAN_LIMIT_EXCEEDED' },
  'an unknown route': { status: 404, type: 'not_found_error', code: null },
  'too many requests': { status: 429, type: 'rate_limit_error', code: null },
  'an unavailable gateway': { status: 503, type: 'api_error', code: 'LLM_GATEWAY_UNAVAILABLE' },
} as const satisfies Record<string, ErrorRow>;

const gateway = useResource(() => openGateway({ billingMode: 'POSTPAID' }));

const mint = async (changes: Partial<KeyToMint> = {}) => await gateway.mint({ scopes: SCOPES, ...changes });

function send(route: string, rawKey: string | null, body: unknown, path = ''): Promise<Response> {
  const [method = '', address = ''] = route.split(' ');
  const headers = { 'content-type': 'application/json', ...authorization(rawKey) };
  return fetch(`${gateway.url}${address}${path}`, {
    ...{ method, headers },
    ...(method === 'POST' ? { body: JSON.stringify(body) } : {}),
  });
}

function authorization(rawKey: string | null): Record<string, string> {
  return rawKey === null ? {} : { authorization: `Bearer ${rawKey}` };
}

async function envelopeOf(response: Response | Promise<Response>): Promise<ErrorRow> {
  const { status, type, code } = await refusalOf(response);
  return { status, type, code } as ErrorRow;
}

async function statusOf(response: Promise<Response>): Promise<number> {
  const answered = await response;
  await answered.text();
  return answered.status;
}

/** One tool call on the wire. */
function call(tool: string, rawKey: string | null, given: unknown): Promise<Response> {
  const params = { name: tool, arguments: given ?? {} };
  return send('POST /mcp', rawKey, { jsonrpc: '2.0', id: 1, method: 'tools/call', params });
}

describe.each(Object.entries(ROUTES))('G-35 %s', (route, { scope, isBilled, body, otherModel }) => {
  test('G-25 without a valid key', async () => {
    const revoked = await mint();
    await revokeKey(gateway.parts, { companyId: gateway.companyId, keyId: revoked.id });
    for (const rawKey of [null, `tpk_${'0'.repeat(49)}`, revoked.rawKey]) {
      expect(await envelopeOf(send(route, rawKey, body))).toEqual(ERRORS['no valid key']);
    }
  });

  test('G-26 without its scope', async () => {
    const { rawKey } = await mint({ scopes: SCOPES.filter((one) => one !== scope) });
    expect(await envelopeOf(send(route, rawKey, body))).toEqual(ERRORS['a missing scope']);
  });

  test('G-27 with a model outside the allowlist', async () => {
    if (otherModel === undefined) return;
    const { rawKey } = await mint({ models: MODELS });
    for (const model of [otherModel, 'gpt-x']) {
      const refused = await envelopeOf(send(route, rawKey, { ...body, model }));
      expect(refused).toEqual(ERRORS['a model outside the allowlist']);
    }
  });

  test('G-10 one segment further, and by another method, there is no route', async () => {
    const { rawKey } = await mint();
    for (const key of [rawKey, null]) {
      if (route !== 'GET /models') {
        expect(await envelopeOf(send(route, key, body, '/more'))).toEqual(ERRORS['an unknown route']);
      }
      const deleted = await envelopeOf(send(route.replace(/^\w+/, 'DELETE'), key, body));
      expect(deleted).toEqual(ERRORS['an unknown route']);
    }
  });

  test('G-40 past the requests of its key', async () => {
    const { rawKey } = await mint({ requestsPerMinute: 1 });
    await statusOf(send(route, rawKey, body));
    expect(await envelopeOf(send(route, rawKey, body))).toEqual(ERRORS['too many requests']);
  });

  test('G-29 without credits', () => whileThere(isBilled, loseCredits, 'no credits'));

  test('G-32 with an overdue invoice', () => whileThere(isBilled, oweMoney, 'an overdue invoice'));

  test('G-36 while keys cannot be verified', () =>
    whileThere(true, withoutDatabase, 'an unavailable gateway'));

  async function whileThere(isRefused: boolean, arrange: Arrange, name: keyof typeof ERRORS): Promise<void> {
    const { rawKey } = await mint();
    const undo = await arrange(gateway);
    try {
      if (isRefused) expect(await envelopeOf(send(route, rawKey, body))).toEqual(ERRORS[name]);
      else expect(await statusOf(send(route, rawKey, body))).toBe(200);
    } finally {
      await undo();
    }
  }
});

test.each(Object.entries(TOOLS))(
  'G-35 G-45 the tool %s is refused by HTTP without a valid key, and without its scope',
  async (tool, { scope, body }) => {
    expect(await envelopeOf(call(tool, null, body))).toEqual(ERRORS['no valid key']);
    const { rawKey } = await mint({ scopes: SCOPES.filter((one) => one !== scope) });
    expect(await envelopeOf(call(tool, rawKey, body))).toEqual(ERRORS['a missing scope']);
  },
);

describe('G-35 G-39 past the requests of an address', () => {
  const flooded = useResource(() => openGateway({ addressRequestsPerMinute: 1 }));

  test('every route is refused, with and without a key', async () => {
    await statusOf(fetch(`${flooded.url}/models`));
    for (const route of [...Object.keys(ROUTES), 'POST /mcp', 'GET /nowhere']) {
      const [method = '', path = ''] = route.split(' ');
      expect(await envelopeOf(fetch(`${flooded.url}${path}`, { method }))).toEqual(
        ERRORS['too many requests'],
      );
    }
  });
});

/** Brings it about; what it returns puts it right again. */
type Arrange = (gateway: GatewayUnderTest) => Promise<() => Promise<void>>;

async function withoutDatabase(): Promise<() => Promise<void>> {
  gateway.outage.isUnavailable = true;
  return async () => {
    gateway.outage.isUnavailable = false;
  };
}
