import { describe, expect, test } from 'bun:test';
import { createHmac } from 'node:crypto';
import { createStripeProvider } from '../../../src/adapters/payment-provider/stripe.ts';
import type { EventVerdict } from '../../../src/ports/payment-provider.ts';
import { createManualClock } from '../../doubles/manual-clock.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';

const SECRET = 'whsec_test_one';
const clock = createManualClock(Date.UTC(2030, 0, 1, 12, 0, 0, 999));
const NOW = Math.floor(clock.now() / 1000);
const BODY = JSON.stringify({
  id: 'evt_1',
  object: 'event',
  type: 'invoice.paid',
  api_version: '2023-10-16',
  created: NOW - 5,
  livemode: false,
  data: { object: { id: 'in_1', object: 'invoice' }, previous_attributes: { status: 'open' } },
});
const NO_MATCH =
  'No signatures found matching the expected signature for payload. Are you passing the raw request body you received from Stripe? \n If a webhook request is being forwarded by a third-party tool, ensure that the exact request body, including JSON formatting and new line style, is preserved.\n\nLearn more about webhook signing and explore webhook integration examples for various frameworks at https://github.com/stripe/stripe-node#webhook-signing\n';

function provider(...webhookSecrets: string[]) {
  const log = createSilentLog();
  return createStripeProvider({ secretKey: 'sk_test_x', webhookSecrets, clock, log });
}

function hmac(secret: string, timestamp: number | string, body: string): string {
  return createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
}

function signed(body: string, timestamp: number | string = NOW, secret = SECRET): string {
  return `t=${timestamp},v1=${hmac(secret, timestamp, body)}`;
}

function verify(body: string, header: string | null, ...secrets: string[]): EventVerdict {
  const bytes = new TextEncoder().encode(body);
  return provider(...(secrets.length === 0 ? [SECRET] : secrets)).verifyEvent(bytes, header);
}

function refusal(body: string, header: string | null, ...secrets: string[]): string {
  const verdict = verify(body, header, ...secrets);
  return verdict.outcome === 'refused' ? verdict.message : 'verified';
}

describe('P-3 a correctly signed event is verified', () => {
  test('and read unchanged, with its version and its previous values', () => {
    const verdict = verify(BODY, signed(BODY));
    expect(verdict).toEqual({
      outcome: 'verified',
      event: {
        id: 'evt_1',
        type: 'invoice.paid',
        apiVersion: '2023-10-16',
        createdAtMs: (NOW - 5) * 1000,
        livemode: false,
        object: { id: 'in_1', object: 'invoice' },
        previousAttributes: { status: 'open' },
        payload: JSON.parse(BODY),
      },
    });
  });

  test('by any one of several signatures, and by any one of several secrets', () => {
    const wrong = hmac('whsec_other', NOW, BODY);
    const right = hmac(SECRET, NOW, BODY);
    expect(verify(BODY, `t=${NOW},v1=${wrong},v1=${right},v0=${wrong}`).outcome).toBe('verified');
    expect(verify(BODY, signed(BODY), 'whsec_new', SECRET).outcome).toBe('verified');
    expect(verify(BODY, signed(BODY), SECRET, 'whsec_new').outcome).toBe('verified');
  });

  test('up to 300 seconds old, and up to 300 seconds ahead', () => {
    expect(verify(BODY, signed(BODY, NOW - 300)).outcome).toBe('verified');
    expect(verify(BODY, signed(BODY, NOW + 300)).outcome).toBe('verified');
  });
});

describe('P-3 an incorrectly signed event is refused with the message of the provider’s client', () => {
  const header = signed(BODY);
  const signature = header.slice(header.indexOf('v1='));
  const outside = 'Timestamp outside the tolerance zone';
  const missing = 'No stripe-signature header value was provided.';
  const unreadable = 'Unable to extract timestamp and signatures from header';

  test.each([
    ['no header', BODY, null, missing],
    ['a header without a timestamp', BODY, signature, unreadable],
    ['only v0', BODY, `t=${NOW},v0=${hmac(SECRET, NOW, BODY)}`, 'No signatures found with expected scheme'],
    ['a wrong signature', BODY, `t=${NOW},v1=${'0'.repeat(64)}`, NO_MATCH],
    ['a signature of another length', BODY, `t=${NOW},v1=00`, NO_MATCH],
    ['an altered body', `${BODY} `, header, NO_MATCH],
    ['an altered timestamp', BODY, `t=${NOW + 1},${signature}`, NO_MATCH],
    ['one that is 301 seconds old', BODY, signed(BODY, NOW - 301), outside],
    ['one that is 301 seconds ahead', BODY, signed(BODY, NOW + 301), outside],
    ['a timestamp that is no number, rightly signed', BODY, signed(BODY, 'NaN'), unreadable],
  ])('%s', (_, body, signatureHeader, message) => {
    expect(refusal(body, signatureHeader)).toBe(message);
  });

  test('another secret, and one with a line break in it', () => {
    expect(refusal(BODY, header, 'whsec_two')).toBe(NO_MATCH);
    expect(refusal(BODY, header, `${SECRET}\n`)).toBe(
      `${NO_MATCH}\n\nNote: The provided signing secret contains whitespace. This often indicates an extra newline or space is in the value`,
    );
  });

  test('of several secrets, the one that matches the signature decides', () => {
    const old = signed(BODY, NOW - 400);
    expect(refusal(BODY, old, 'whsec_two', SECRET)).toBe(outside);
    expect(refusal(BODY, old, SECRET, 'whsec_two')).toBe(outside);
  });
});

describe('P-3 correctly signed bytes that are not an event are refused', () => {
  test.each([
    ['not JSON', 'hello <script>'],
    ['null', 'null'],
    ['an event without an id', BODY.replace('"id":"evt_1",', '')],
    ['an event without its object', BODY.replace('"object":{', '"subject":{')],
  ])('%s', (_, body) => {
    const message = refusal(body, signed(body));
    expect(message).toStartWith('The payload is not ');
    expect(message).not.toContain('script');
  });

  test('a thin event, which has no object to act on', () => {
    const body = JSON.stringify({ id: 'evt_2', object: 'v2.core.event', type: 'v1.invoice.paid' });
    expect(refusal(body, signed(body))).toContain('but "v2.core.event"');
  });
});

test('P-3 a signed event without its optional fields is accepted', () => {
  const body = JSON.stringify({ id: 'evt_3', type: 'charge.refunded', data: { object: { id: 'ch_1' } } });
  expect(verify(body, signed(body))).toMatchObject({
    event: { id: 'evt_3', createdAtMs: clock.now(), apiVersion: null, object: { id: 'ch_1' } },
  });
});

test('P-25 an event of another version is verified and carries its version', () => {
  const body = BODY.replace('2023-10-16', '2020-08-27');
  expect(verify(body, signed(body))).toMatchObject({ event: { apiVersion: '2020-08-27' } });
  const without = BODY.replace('"2023-10-16"', 'null');
  expect(verify(without, signed(without))).toMatchObject({ event: { apiVersion: null } });
});

test('P-3 an empty secret is rejected by the constructor: with it anyone could sign', () => {
  for (const secrets of [[], [''], ['  '], ['whsec_x', '']]) {
    expect(() => provider(...secrets)).toThrow('needs a signing secret');
  }
  const options = { secretKey: ' ', webhookSecrets: [SECRET], clock, log: createSilentLog() };
  expect(() => createStripeProvider(options)).toThrow('needs a secret key');
});
