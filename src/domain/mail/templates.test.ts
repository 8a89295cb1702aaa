import { describe, expect, test } from 'bun:test';
import { MAIL_KINDS, MAIL_SAMPLES } from '../../../test/doubles/mail-samples.ts';
import { createConsoleLinks, renderMail } from './content.ts';
import { atTime, inCredits, inMoney, onDay } from './fields.ts';
import { readMailData, TEMPLATES, writeMail } from './templates.ts';

const links = createConsoleLinks('https://console.example/app/');

function render(kind: string, data: unknown) {
  const read = readMailData(kind, data);
  if (read.outcome === 'invalid') throw new Error(read.reason);
  // As it comes back from the database.
  const written = writeMail(kind, JSON.parse(JSON.stringify(read.data)), links);
  if (written.outcome === 'invalid') throw new Error(written.reason);
  return renderMail(written.content, 'Turnpike');
}

describe('every kind of mail', () => {
  test('there is a sample of each', () => {
    expect(MAIL_KINDS.toSorted()).toEqual(Object.keys(TEMPLATES).toSorted() as typeof MAIL_KINDS);
  });

  test('each has a sender: its kind is named outside of this capability', async () => {
    const source = new URL('../..', import.meta.url).pathname;
    const texts: string[] = [];
    for await (const path of new Bun.Glob('**/*.ts').scan(source)) {
      if (path.startsWith('domain/mail/') || path.endsWith('.test.ts')) continue;
      texts.push(await Bun.file(`${source}${path}`).text());
    }
    expect(MAIL_KINDS.filter((kind) => !texts.some((text) => text.includes(`'${kind}'`)))).toEqual([]);
  });

  for (const kind of MAIL_KINDS) {
    test(`${kind} says the same in plain text and in HTML`, () => {
      const { subject, text, html } = render(kind, MAIL_SAMPLES[kind]);
      expect(subject).toMatch(/^\S.{4,150}\S$/);
      const visible = html
        .replace(/<title>.*<\/title>/s, '')
        .replace(/<[^>]+>/g, ' ')
        .replaceAll('&#39;', "'")
        .replaceAll('&amp;', '&');
      for (const line of text.split('\n').filter((one) => one !== '' && one !== '-- ')) {
        for (const part of line.replace(/^Turnpike\. /, '').split(/: |:$/)) expect(visible).toContain(part);
      }
      expect(text.trimEnd().split('\n').at(-1)).toMatch(/^Turnpike\. You get this because /);
    });

    test(`${kind} loads nothing and runs nothing`, () => {
      const { html } = render(kind, MAIL_SAMPLES[kind]);
      expect(html).not.toMatch(/<(?:script|img|link|iframe|form|object|style)\b|url\(|\bon\w+=|javascript:/i);
      expect(html).toContain('<html lang="en"');
      expect(html.match(/<h1\b/g)).toHaveLength(1);
    });
  }

  test('optional facts may be missing', () => {
    const { companyName, amount, paidAt, item } = MAIL_SAMPLES.receipt;
    const { text } = render('receipt', { companyName, amount, paidAt, item });
    expect(text).not.toContain('Credits added');
    expect(text).toContain('https://console.example/app/billing');
  });
});

test('a key that nears its limit is not told that its calls are refused', () => {
  const nearly = render('spending-limit', { ...MAIL_SAMPLES['spending-limit'], spentMicro: 49_999_999n });
  expect(nearly.text).toContain('has used up most of its limit');
  expect(nearly.subject).toContain('comes close to');
  expect(render('spending-limit', MAIL_SAMPLES['spending-limit']).text).toContain('has used up its limit');
});

test('a balance that is used up is called so', () => {
  const left = render('low-balance', MAIL_SAMPLES['low-balance']);
  expect(left.text).toContain('is below 10 credits');
  expect(render('low-balance', { ...MAIL_SAMPLES['low-balance'], balanceMicro: -1n }).text).toContain(
    'used up',
  );
});

test('links of invitations and resets carry their token where no server sees it', () => {
  for (const kind of ['invitation', 'password-reset'] as const) {
    const { text } = render(kind, MAIL_SAMPLES[kind]);
    const { token } = MAIL_SAMPLES[kind];
    expect(text).toMatch(new RegExp(`^https://console\\.example/app/[a-z-]+#token=${token}$`, 'm'));
  }
});

test('mail with a token is of no use past the token’s time', () => {
  const expiresAt = new Date(Date.UTC(2031, 0, 1));
  const read = readMailData('password-reset', { ...MAIL_SAMPLES['password-reset'], expiresAt });
  expect(read).toMatchObject({ outcome: 'read', expiresAt });
  expect(readMailData('receipt', MAIL_SAMPLES.receipt)).toMatchObject({ expiresAt: null });
});

test('data that is not right is refused by the names of its fields, not by what is in them', () => {
  const wrong = { companyName: 7, invitedBy: '  ', token: 'hunter2', expiresAt: 'soon', extra: 'hunter2' };
  expect(readMailData('invitation', wrong)).toEqual({
    outcome: 'invalid',
    reason: 'missing or not as they should be: companyName, invitedBy, token, expiresAt, the whole',
  });
  for (const kind of ['', 'nope', 'toString', '__proto__']) {
    expect(readMailData(kind, {})).toEqual({ outcome: 'invalid', reason: 'no mail of this kind is known' });
  }
});

test('only addresses of web pages become links', () => {
  const { payUrl: _, ...rest } = MAIL_SAMPLES['payment-action-required'];
  for (const payUrl of [
    'javascript:alert(1)',
    'data:text/html,x',
    'https://u:p@pay.example/',
    '//pay.example',
    'pay',
  ]) {
    expect(readMailData('payment-action-required', { ...rest, payUrl }).outcome).toBe('invalid');
  }
  expect(
    readMailData('payment-action-required', { ...rest, payUrl: 'http://127.0.0.1:8083/x' }).outcome,
  ).toBe('read');
});

test('the console’s address must be one', () => {
  for (const wrong of ['', 'console', 'javascript:1', 'ftp://x'])
    expect(() => createConsoleLinks(wrong)).toThrow();
  expect(createConsoleLinks('http://127.0.0.1:8081').billing).toBe('http://127.0.0.1:8081/billing');
});

test('amounts, credits, days and times are written out in full', () => {
  expect(inMoney({ value: '1234567.80', currency: 'usd' })).toBe('USD 1,234,567.80');
  expect(inMoney({ value: '-5', currency: 'JPY' })).toBe('JPY -5');
  expect(inCredits('1000000')).toBe('1 credit');
  expect(inCredits('-1234500000')).toBe('-1,234.5 credits');
  expect(inCredits('1')).toBe('0.000001 credits');
  expect(inCredits('0')).toBe('0 credits');
  expect(onDay('2030-03-04T23:59:59Z')).toBe('4 March 2030');
  expect(atTime('2030-03-04T23:30:00-02:00')).toBe('5 March 2030, 01:30 UTC');
});
