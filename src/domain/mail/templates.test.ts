import { describe, expect, test } from 'bun:test';
import { Parser } from 'htmlparser2';
import { message } from '../../../test/adapters/mail/mail-server.ts';
import { MAIL_KINDS, MAIL_SAMPLES } from '../../../test/doubles/mail-samples.ts';
import { createSeededRandom, type SeededRandom } from '../../../test/doubles/seeded-random.ts';
import { composeMessage } from '../../adapters/mail/mime-message.ts';
import { createConsoleLinks, renderMail } from './content.ts';
import { atTime, inCredits, inMoney, mailAddress, onDay } from './fields.ts';
import { readMailData, TEMPLATES, writeMail } from './templates.ts';

const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  '</title><style>*{}</style>',
  '\r\nBcc: eve@evil.example',
  '\n\nPay here:\nhttps://evil.example',
  '\u2028X: y',
  '\u0000',
  '\u0085',
  '&lt;b&gt;',
  '<!--',
  '=?UTF-8?Q?=0D=0A?=',
  '\u202egnp.exe',
  '\ud800',
  '\ufeff',
  'evil.example',
  'https://evil.example/?a=b',
  'a@b.example',
  '-- \n',
  '.\r\n.\r\nQUIT',
  'x'.repeat(5_000),
  '😀'.repeat(300),
];

function hostile(random: SeededRandom): string {
  return Array.from({ length: 1 + random.below(4) }, () => random.pick(HOSTILE)).join(
    random.pick(['', ' ', 'a']),
  );
}

/** The same data with something hostile in some of its texts, at any depth. */
function spoil(value: unknown, random: SeededRandom): unknown {
  if (typeof value === 'string') return random.below(3) === 0 ? value : hostile(random);
  if (value === null || typeof value !== 'object' || value instanceof Date) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, spoil(one, random)]));
}

/** Only the texts that people choose, so that the result is mail more often than it is refused. */
function spoilNames(data: object, random: SeededRandom): unknown {
  const chosen =
    /^(?:companyName|item|invoiceNumber|reason|planName|keyName|invitedBy|role|mostly|talentName|jobTitle)$/;
  const entries = Object.entries(data).map(([key, one]) => [
    key,
    chosen.test(key) ? `n${hostile(random)}` : one,
  ]);
  return Object.fromEntries(entries);
}

function shape(html: string) {
  const tags: string[] = [];
  const hrefs: string[] = [];
  const attributes = new Set<string>();
  const parser = new Parser({
    onopentag(name, given) {
      tags.push(name);
      for (const key of Object.keys(given)) attributes.add(key);
      if (given.href !== undefined) hrefs.push(given.href);
    },
  });
  parser.end(html);
  return { tags, hrefs, attributes: [...attributes].sort() };
}

const links = createConsoleLinks('https://console.example/app/');

/** Null where the data is refused. */
function renderIfValid(kind: string, data: unknown) {
  const read = readMailData(kind, data);
  if (read.outcome === 'invalid') return null;
  // As it comes back from the database.
  const written = writeMail(kind, JSON.parse(JSON.stringify(read.data)), links);
  if (written.outcome === 'invalid') throw new Error(written.reason);
  return renderMail(written.content, 'Turnpike');
}

function render(kind: string, data: unknown) {
  const mail = renderIfValid(kind, data);
  if (mail === null) throw new Error(`${kind}: it must not be refused`);
  return mail;
}

describe('templates', () => {
  test('docs/mail.md lists every mail', async () => {
    const page = await Bun.file(new URL('../../../docs/mail.md', import.meta.url)).text();
    const rows = page.split('\n').filter((line) => line.startsWith('| `'));
    const listed = rows.flatMap((row) =>
      [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map(([, one]) => one),
    );
    expect(MAIL_KINDS.filter((kind) => !listed.includes(kind))).toEqual([]);
  });

  describe('every kind of mail', () => {
    test('there is a sample of each', () => {
      expect(MAIL_KINDS.toSorted()).toEqual(Object.keys(TEMPLATES).toSorted() as typeof MAIL_KINDS);
    });

    test('each has a sender: its kind is used outside this capability', async () => {
      const source = new URL('../..', import.meta.url).pathname;
      const texts: string[] = [];
      for await (const path of new Bun.Glob('**/*.ts').scan(source)) {
        if (path.startsWith('domain/mail/') || path.endsWith('.test.ts')) continue;
        texts.push(await Bun.file(`${source}${path}`).text());
      }
      expect(MAIL_KINDS.filter((kind) => !texts.some((text) => text.includes(`'${kind}'`)))).toEqual([]);
    });

    for (const kind of MAIL_KINDS) {
      test(`${kind} has the same content in plain text and in HTML`, () => {
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
        expect(html).not.toMatch(
          /<(?:script|img|link|iframe|form|object|style)\b|url\(|\bon\w+=|javascript:/i,
        );
        expect(html).toContain('<html lang="en"');
        expect(html.match(/<h1\b/g)).toHaveLength(1);
      });
    }

    test('optional values may be missing', () => {
      const { companyName, amount, paidAt, item } = MAIL_SAMPLES.receipt;
      const { text } = render('receipt', { companyName, amount, paidAt, item });
      expect(text).not.toContain('Credits added');
      expect(text).toContain('https://console.example/app/billing');
    });
  });

  test('the mail about a key near its limit does not say that its calls are rejected', () => {
    // The threshold decides: one commit may have gone past 80 and 100 percent.
    const nearly = render('spending-limit', { ...MAIL_SAMPLES['spending-limit'], percent: 80 });
    expect(nearly.text).toContain('has used 80 percent of its limit');
    expect(nearly.subject).toContain('has used 80 percent of its spending limit');
    const { percent: _, ...before } = MAIL_SAMPLES['spending-limit'];
    expect(render('spending-limit', { ...before, spentMicro: 49_999_999n }).text).toContain(
      'has used most of',
    );
    expect(render('spending-limit', MAIL_SAMPLES['spending-limit']).text).toContain('has used up its limit');
  });

  test('a used-up balance is described as such', () => {
    const left = render('low-balance', MAIL_SAMPLES['low-balance']);
    expect(left.text).toContain('is below 10 credits');
    expect(render('low-balance', { ...MAIL_SAMPLES['low-balance'], balanceMicro: -1n }).text).toContain(
      'used up',
    );
  });

  test('links of invitations and resets carry their token where no server receives it', () => {
    for (const kind of ['invitation', 'password-reset'] as const) {
      const { text } = render(kind, MAIL_SAMPLES[kind]);
      const { token } = MAIL_SAMPLES[kind];
      expect(text).toMatch(new RegExp(`^https://console\\.example/app/[a-z-]+#token=${token}$`, 'm'));
    }
  });

  test('mail with a token expires with the token', () => {
    const expiresAt = new Date(Date.UTC(2031, 0, 1));
    const read = readMailData('password-reset', { ...MAIL_SAMPLES['password-reset'], expiresAt });
    expect(read).toMatchObject({ outcome: 'read', expiresAt });
    expect(readMailData('receipt', MAIL_SAMPLES.receipt)).toMatchObject({ expiresAt: null });
  });

  test('invalid data is refused by the names of its fields, not by their values', () => {
    const wrong = { companyName: 7, invitedBy: '  ', token: 'hunter2', expiresAt: 'soon', extra: 'hunter2' };
    expect(readMailData('invitation', wrong)).toEqual({
      outcome: 'invalid',
      reason: 'missing or not as they should be: companyName, invitedBy, token, expiresAt, the whole',
    });
    for (const kind of ['', 'nope', 'toString', '__proto__']) {
      expect(readMailData(kind, {})).toEqual({ outcome: 'invalid', reason: 'no mail of this kind is known' });
    }
  });

  test('only web addresses become links', () => {
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

  test('the console’s address must be valid', () => {
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
});

describe('generated names', () => {
  test('no name changes the structure of a mail, its links or its lines', async () => {
    const random = createSeededRandom(20_300_101);
    for (const kind of MAIL_KINDS) {
      const plain = render(kind, MAIL_SAMPLES[kind]);
      for (let n = 0; n < 20; n += 1) {
        const spoilt = render(kind, spoilNames(MAIL_SAMPLES[kind], random));
        expect({ kind, n, ...shape(spoilt.html) }).toEqual({ kind, n, ...shape(plain.html) });
        expect(spoilt.text.split('\n')).toHaveLength(plain.text.split('\n').length);
        expect(spoilt.subject).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}]/u);
        // Nothing a mail program would make a link of but what is one.
        const ours = new Set(shape(plain.html).hrefs);
        const linked = spoilt.text.match(/\S*\w[.:@]\w\S*/g) ?? [];
        expect(linked.filter((one) => !ours.has(one) && !/^[\d:.,]+$/.test(one))).toEqual([]);
        expect(await composeMessage(message(spoilt))).toMatchObject({ outcome: 'composed' });
      }
    }
  });

  test('for any value in any field, the mail is refused or complete', async () => {
    const random = createSeededRandom(7);
    let written = 0;
    for (const kind of MAIL_KINDS) {
      for (let n = 0; n < 20; n += 1) {
        const mail = renderIfValid(kind, spoil(MAIL_SAMPLES[kind], random));
        if (mail === null) continue;
        written += 1;
        expect(shape(mail.html).hrefs.every((href) => /^https?:\/\//.test(href))).toBe(true);
        expect(mail.html).not.toMatch(/<script|onerror=[^&]*>|<img/i);
        expect(await composeMessage(message(mail))).toMatchObject({ outcome: 'composed' });
      }
    }
    expect(written).toBeGreaterThan(30);
  });

  test('no address with hostile characters is accepted', () => {
    for (const text of HOSTILE.filter((one) => /[\s<>,;:"]|\p{Cc}|\p{Cs}/u.test(one))) {
      for (const address of [`a${text}@b.example`, `a@b.example${text}`, `${text}a@b.example`]) {
        expect({ address, ok: mailAddress.safeParse(address).success }).toEqual({ address, ok: false });
      }
    }
    for (const good of ['ada@customer.example', 'a+b.c@x.co', "o'neil@x.ie", 'ä@bücher.example']) {
      expect(mailAddress.safeParse(good).success).toBe(true);
    }
  });
});
