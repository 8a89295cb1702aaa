import { describe, expect, test } from 'bun:test';
import { useSandbox } from './sandbox-under-test.ts';

const { sandbox } = useSandbox();

async function made(path: string, parameters: Record<string, string>): Promise<string> {
  const { status, body } = await sandbox.call('POST', path, parameters);
  expect(status).toBe(200);
  return String(body.id);
}

async function madePrice(parameters: Record<string, string> = {}): Promise<string> {
  const product = await made('/v1/products', { name: 'Pack' });
  return await made('/v1/prices', { product, currency: 'usd', unit_amount: '1000', ...parameters });
}

const success = { success_url: 'http://127.0.0.1:1/ok', cancel_url: 'http://127.0.0.1:1/no' };

describe('authentication and versions', () => {
  test('any secret key is accepted, and none is 401 with the provider’s message', async () => {
    const without = await fetch(`${sandbox.url}/v1/products`);
    expect(without.status).toBe(401);
    expect(((await without.json()) as { error: { message: string } }).error.message).toStartWith(
      'You did not provide an API key. You need to provide your API key in the Authorization header',
    );
    for (const authorization of ['Bearer sk_live_x', 'Bearer anything', `Basic ${btoa('sk_test_1:')}`]) {
      const answer = await fetch(`${sandbox.url}/v1/products`, { headers: { authorization } });
      expect(answer.status).toBe(200);
      expect(answer.headers.get('request-id')).toStartWith('req_');
    }
  });

  test('P-25 another version is refused, so that a mismatch is found early', async () => {
    const headers = { authorization: 'Bearer sk', 'stripe-version': '2024-04-10' };
    const answer = await fetch(`${sandbox.url}/v1/products`, { headers });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toContain('Invalid Stripe API version: 2024-04-10');
  });

  test('an unknown address', async () => {
    const { status, body } = await sandbox.call('POST', '/v1/nothing');
    expect(status).toBe(404);
    expect(JSON.stringify(body)).toContain('Unrecognized request URL (POST: /v1/nothing)');
    expect(await (await fetch(`${sandbox.url}/healthz`)).text()).toBe('ok');
  });

  test('a body that is JSON, too large, or cannot be stored', async () => {
    const send = (body: string, contentType: string) =>
      fetch(`${sandbox.url}/v1/products`, {
        method: 'POST',
        headers: { authorization: 'Bearer sk', 'content-type': contentType },
        body,
      });
    const form = 'application/x-www-form-urlencoded';
    expect((await send('{"name":"x"}', 'application/json')).status).toBe(400);
    expect((await send(`name=${'x'.repeat(1024 * 1024)}`, form)).status).toBe(413);
    expect((await send('name=%00', form)).status).toBe(400);
    expect((await send('a[b][c][d][e][f][g]=1', form)).status).toBe(400);
    expect((await send('a[b=1', form)).status).toBe(400);
    expect((await send(Array.from({ length: 1_001 }, (_, at) => `a${at}=1`).join('&'), form)).status).toBe(
      400,
    );
    const odd = await send('name=x&metadata[__proto__]=1&metadata[constructor]=2&__proto__[a]=b', form);
    expect(odd.status).toBe(200);
    expect(((await odd.json()) as { metadata: object }).metadata).toHaveProperty('constructor', '2');
  });
});

describe('refusals, with the provider’s messages', () => {
  test('P-26 a price that does not exist', async () => {
    const wanted = { mode: 'payment', 'line_items[0][price]': 'price_x', 'line_items[0][quantity]': '1' };
    const { status, body } = await sandbox.call('POST', '/v1/checkout/sessions', { ...wanted, ...success });
    expect(status).toBe(400);
    expect(body.error).toEqual({
      type: 'invalid_request_error',
      message: "No such price: 'price_x'",
      code: 'resource_missing',
      param: 'line_items[0][price]',
    });
    const retrieved = await sandbox.call('GET', '/v1/prices/price_x');
    expect(retrieved.status).toBe(404);
    expect(retrieved.body.error).toMatchObject({ message: "No such price: 'price_x'", param: 'price' });
  });

  test.each([
    ['/v1/products', {}, 'Missing required param: name.'],
    ['/v1/prices', { currency: 'usd', product: 'prod_x', unit_amount: '1' }, "No such product: 'prod_x'"],
    ['/v1/checkout/sessions', {}, 'Missing required param: mode.'],
    ['/v1/checkout/sessions', { mode: 'payment', customer: 'cus_x' }, "No such customer: 'cus_x'"],
    ['/v1/refunds', { charge: 'ch_x' }, "No such charge: 'ch_x'"],
    ['/v1/customers', { email: 'nobody' }, 'Invalid email address: nobody'],
    ['/v1/customers', { 'metadata[k]': 'v'.repeat(501) }, 'Metadata keys have up to 40 characters'],
    ['/v1/customers', { [`metadata[${'k'.repeat(41)}]`]: 'v' }, 'Metadata keys have up to 40 characters'],
  ])('POST %s %j', async (path, parameters, message) => {
    const { status, body } = await sandbox.call('POST', path, parameters as Record<string, string>);
    expect(status).toBe(400);
    expect((body.error as { message: string }).message).toStartWith(message);
  });

  test.each([['1.5'], ['-1'], ['1e3'], ['999999999'], ['x']])('an amount of %p', async (amount) => {
    const product = await made('/v1/products', { name: 'Pack' });
    const parameters = { product, currency: 'usd', unit_amount: amount };
    expect((await sandbox.call('POST', '/v1/prices', parameters)).status).toBe(400);
  });

  test('a recurring price in a payment, and a one-time price in a subscription', async () => {
    const line = (price: string) => ({ 'line_items[0][price]': price, 'line_items[0][quantity]': '1' });
    const once = await madePrice();
    const monthly = await madePrice({ 'recurring[interval]': 'month' });
    const path = '/v1/checkout/sessions';
    const wrong = await sandbox.call('POST', path, { mode: 'payment', ...line(monthly), ...success });
    expect(JSON.stringify(wrong.body)).toContain('You specified `payment` mode but passed a recurring price');
    const other = await sandbox.call('POST', path, { mode: 'subscription', ...line(once), ...success });
    expect(JSON.stringify(other.body)).toContain('You must provide at least one recurring price');
  });
});

describe('replays, pages and expansions', () => {
  test('the same key replays, with a header that marks it; another request with it is refused', async () => {
    const first = await sandbox.call('POST', '/v1/products', { name: 'One', description: 'd' }, 'k1');
    expect(first.headers.get('idempotent-replayed')).toBe(null);
    const again = await sandbox.call('POST', '/v1/products', { description: 'd', name: 'One' }, 'k1');
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.body).toEqual(first.body);
    const other = await sandbox.call('POST', '/v1/products', { name: 'Two' }, 'k1');
    expect(other).toMatchObject({ status: 400, body: { error: { type: 'idempotency_error' } } });
    const elsewhere = await sandbox.call('POST', '/v1/customers', { name: 'One' }, 'k1');
    expect((elsewhere.body.error as { message: string }).message).toContain("('/v1/products')");
    sandbox.clock.step(24 * 3_600_000);
    const later = await sandbox.call('POST', '/v1/products', { name: 'Two' }, 'k1');
    expect(later.status).toBe(200);
  });

  test('lists are newest first, a page at a time, in both directions', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) ids.unshift(await made('/v1/products', { name: `P${count}` }));
    const page = async (parameters: Record<string, string>) => {
      const { body } = await sandbox.call('GET', '/v1/products', parameters);
      return {
        ids: (body.data as { id: string }[]).map((one) => one.id),
        more: body.has_more,
        url: body.url,
      };
    };
    expect(await page({ limit: '2' })).toEqual({ ids: ids.slice(0, 2), more: true, url: '/v1/products' });
    const [, second = '', , fourth = ''] = ids;
    expect((await page({ limit: '2', starting_after: second })).ids).toEqual(ids.slice(2, 4));
    expect((await page({ limit: '2', ending_before: fourth })).ids).toEqual(ids.slice(1, 3));
    expect((await sandbox.call('GET', '/v1/products', { limit: '101' })).status).toBe(400);
    expect((await sandbox.call('GET', '/v1/products', { starting_after: 'prod_x' })).status).toBe(400);
  });
});
