import { afterAll, beforeEach, describe, expect, test } from 'bun:test';
import { createStripeProvider } from '../../../src/adapters/payment-provider/stripe.ts';
import type { ProviderFailure } from '../../../src/ports/payment-provider.ts';
import { done } from '../../contracts/payment-provider.contract.ts';
import { createManualClock } from '../../doubles/manual-clock.ts';
import { createRecordingLog } from '../../doubles/recording-log.ts';

type Answer = (request: Request) => Response | Promise<Response>;

const asked: { method: string; path: string; query: object; headers: Headers; body: string }[] = [];
let answers: Answer[] = [];
const server = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    const { method, headers } = request;
    const { pathname: path, searchParams } = new URL(request.url);
    const query = Object.fromEntries(searchParams);
    asked.push({ method, path, query, headers, body: await request.text() });
    return (await answers.shift()?.(request)) ?? Response.json({ id: 'prod_1', object: 'product' });
  },
});
const apiUrl = `http://127.0.0.1:${server.port}`;
const { log, entries } = createRecordingLog();

beforeEach(() => {
  asked.length = 0;
  entries.length = 0;
  answers = [];
});
afterAll(() => server.stop(true));

function provider(options: { maxRetries?: number; timeoutMs?: number; apiUrl?: string } = {}) {
  const clock = createManualClock();
  const base = {
    secretKey: 'sk_test_secret',
    webhookSecrets: ['whsec_x'],
    clock,
    log,
    apiUrl,
    maxRetries: 0,
  };
  return createStripeProvider({ ...base, ...options });
}

const product = { name: 'Pack', metadata: { packId: 'p1' } };

async function failure(...given: Answer[]): Promise<ProviderFailure | string> {
  answers = given;
  const answer = await provider().createProduct(product, 'key-1');
  return answer.outcome === 'failed' ? answer.failure : 'done';
}

const refusing = (status: number, error: object) => () => Response.json({ error }, { status });

test('P-25 every request names the pinned version, our key and the caller’s idempotency key', async () => {
  const answer = await provider().createProduct(product, 'pack:p1:product');
  expect(answer).toEqual({ outcome: 'done', value: { id: 'prod_1' } });
  expect(asked).toHaveLength(1);
  const [request] = asked;
  expect(request?.headers.get('stripe-version')).toBe('2023-10-16');
  expect(request?.headers.get('authorization')).toBe('Bearer sk_test_secret');
  expect(request?.headers.get('idempotency-key')).toBe('pack:p1:product');
  expect(request?.headers.get('x-stripe-client-telemetry')).toBe(null);
  expect(request).toMatchObject({ method: 'POST', path: '/v1/products' });
  expect(new URLSearchParams(request?.body).get('metadata[packId]')).toBe('p1');
});

test('a checkout charges the price in its own currency, also where the provider cannot do otherwise', async () => {
  const session = { id: 'cs_1', object: 'checkout.session', url: 'https://pay.example', expires_at: 1 };
  const params = {
    ...{ priceId: 'price_1', quantity: 1, customerId: 'cus_1', referenceId: 'r', metadata: {} },
    ...{ successUrl: 'https://a.example', cancelUrl: 'https://a.example' },
  };
  const sent = () =>
    asked.map(({ body, headers }) => {
      const fields = new URLSearchParams(body);
      const [mode, adaptive, currency] = ['mode', 'adaptive_pricing[enabled]', 'currency'].map((name) =>
        fields.get(name),
      );
      return [mode, adaptive, currency, headers.get('idempotency-key')];
    });
  for (const mode of ['payment', 'subscription'] as const) {
    asked.length = 0;
    answers = [() => Response.json(session)];
    const opened = await provider().createCheckoutSession({ ...params, mode }, 'key');
    expect(opened).toMatchObject({ outcome: 'done' });
    expect(sent()).toEqual([[mode, 'false', null, 'key']]);
  }
  const unknown = { type: 'invalid_request_error', code: 'parameter_unknown', param: 'adaptive_pricing' };
  const notHere = { type: 'invalid_request_error', param: 'adaptive_pricing[enabled]' };
  for (const refusal of [unknown, notHere]) {
    asked.length = 0;
    answers = [refusing(400, refusal), () => Response.json(session)];
    const wanted = { ...params, mode: 'payment', currency: 'eur' } as const;
    expect(await provider().createCheckoutSession(wanted, 'key')).toMatchObject({ outcome: 'done' });
    expect(sent()).toEqual([
      ['payment', 'false', 'eur', 'key'],
      ['payment', null, 'eur', 'key:2'],
    ]);
  }
  answers = [refusing(400, { ...unknown, param: 'mode' })];
  const refused = await provider().createCheckoutSession({ ...params, mode: 'payment' }, 'key');
  expect(refused).toMatchObject({ outcome: 'failed' });
});

describe('a failure has its reason and the provider’s own message', () => {
  test.each([
    [400, 'parameter_missing', 'refused'],
    [402, 'card_declined', 'refused'],
    [404, 'resource_missing', 'not-found'],
    [400, 'resource_missing', 'not-found'],
    [429, 'rate_limit', 'rate-limited'],
    [409, 'idempotency_key_in_use', 'unavailable'],
    [500, 'internal', 'unavailable'],
  ] as const)('%d %s is %s', async (status, code, reason) => {
    const error = { type: code === 'internal' ? 'api_error' : 'invalid_request_error', code, message: 'No.' };
    expect(await failure(refusing(status, error))).toEqual({ reason, message: 'No.', code });
  });

  test('a response that is not JSON', async () => {
    expect(await failure(() => new Response('<html>'))).toMatchObject({ reason: 'unavailable' });
  });

  test('a key that it does not accept, reported to the operator without the key', async () => {
    const error = { type: 'invalid_request_error', message: 'Invalid API Key provided: sk_test_******' };
    expect(await failure(refusing(401, error))).toMatchObject({ reason: 'refused', message: error.message });
    expect(entries[0]).toMatchObject({ level: 'error', context: { request: 'create product', status: 401 } });
    expect(JSON.stringify(entries)).not.toContain('sk_test_secret');
  });

  test('the connection is refused', async () => {
    const away = provider({ apiUrl: 'http://127.0.0.1:1' });
    expect(await away.retrieveInvoice('in_1')).toMatchObject({
      failure: { reason: 'unavailable', code: null },
    });
  });

  test('a redirect, which would send the secret key elsewhere', async () => {
    expect(await failure(() => Response.redirect(`${apiUrl}/elsewhere`, 307))).toMatchObject({
      reason: 'unavailable',
    });
    expect(asked).toHaveLength(1);
  });
});

describe('time and retries are bounded', () => {
  const broken = refusing(500, { type: 'api_error', message: 'Sorry.' });

  test('a retry has the same idempotency key, and the last failure is reported', async () => {
    answers = [broken];
    const once = await provider({ maxRetries: 1 }).createProduct(product, 'key-2');
    expect(once.outcome).toBe('done');
    expect(asked.map(({ headers }) => headers.get('idempotency-key'))).toEqual(['key-2', 'key-2']);
    answers = [broken, broken];
    const never = await provider({ maxRetries: 1 }).createProduct(product, 'key-3');
    expect(never).toMatchObject({ failure: { reason: 'unavailable' } });
    expect(asked).toHaveLength(4);
  });

  test('headers that do not arrive, and a body that does not end', async () => {
    const { promise: never } = Promise.withResolvers<Response>();
    const quick = provider({ timeoutMs: 100 });
    answers = [() => never];
    expect(await quick.createProduct(product, 'key-5')).toMatchObject({ failure: { reason: 'unavailable' } });
    const endless = new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode('{')) });
    answers = [() => new Response(endless, { headers: { 'content-type': 'application/json' } })];
    expect(await quick.createProduct(product, 'key-6')).toMatchObject({ failure: { reason: 'unavailable' } });
  });
});

const LINES = { object: 'list', has_more: true, data: [{ id: 'il_1', object: 'line_item', amount: 1_000 }] };
const NOTES = {
  ...{ object: 'list', has_more: false },
  data: [{ id: 'cn_1', object: 'credit_note', refund: { id: 're_1', amount: 600 }, voided_at: null }],
};

describe('lists in the provider’s documented format', () => {
  test('P-22 lines of an invoice: one page as requested, every field unchanged', async () => {
    answers = [() => Response.json(LINES)];
    const invoiceId = 'in_1MtHbELkdIwHu7ixl4OzzPMv';
    const listed = done(await provider().listInvoiceLines(invoiceId, { limit: 1, after: 'il_before' }));
    expect(listed.hasMore).toBe(true);
    expect(listed.items.map((line) => ({ ...line }))).toEqual(LINES.data);
    const query = { limit: '1', starting_after: 'il_before' };
    expect(asked).toMatchObject([{ path: `/v1/invoices/${invoiceId}/lines`, query }]);
  });

  test('P-22 credit notes: since a second, with their refunds expanded, every field unchanged', async () => {
    answers = [() => Response.json(NOTES)];
    const listed = done(await provider().listCreditNotes({ sinceMs: 1_681_000_000_999, limit: 100 }));
    expect(listed.hasMore).toBe(false);
    expect(listed.items.map((note) => ({ ...note }))).toEqual(NOTES.data);
    expect(asked.map(({ path }) => path)).toEqual(['/v1/credit_notes']);
    const query = { 'created[gte]': '1681000000', 'expand[0]': 'data.refund', limit: '100' };
    expect(asked[0]?.query).toEqual(query);
  });
});

test('an invalid address is reported at once', () => {
  expect(() => provider({ apiUrl: 'ftp://127.0.0.1' })).toThrow('http:// or https://');
});
