import { expect, test } from 'bun:test';
import { Parser } from 'htmlparser2';
import { message } from '../../../test/adapters/mail/mail-server.ts';
import { MAIL_KINDS, MAIL_SAMPLES } from '../../../test/doubles/mail-samples.ts';
import { createSeededRandom, type SeededRandom } from '../../../test/doubles/seeded-random.ts';
import { composeMessage } from '../../adapters/mail/mime-message.ts';
import { createConsoleLinks, renderMail } from './content.ts';
import { mailAddress } from './fields.ts';
import { readMailData, writeMail } from './templates.ts';

const links = createConsoleLinks('https://console.example');

const HOSTILE = [
  ...[
    '<script>alert(1)</script>',
    '"><img src=x onerror=alert(1)>',
    "' onmouseover='x",
    '</title><style>*{}</style>',
  ],
  ...[
    '\r\nBcc: eve@evil.example',
    '\n\nPay here:\nhttps://evil.example',
    '\u2028X: y',
    '\u0000',
    '\u0085',
    '\u000b',
  ],
  ...['&lt;b&gt;', '&#x3c;script&#x3e;', '<!--', ']]>', '{{7*7}}', '%0d%0aX: y', '=?UTF-8?Q?=0D=0A?='],
  ...[
    '\u202egnp.exe',
    '\u2066x',
    '\ud800',
    '\udc00x',
    '\ufeff',
    'evil.example',
    'https://evil.example/?a=b',
    'www.x.example',
  ],
  ...[
    'a@b.example',
    "'; drop table mail_outbox; --",
    '-- \n',
    '.\r\n.\r\nQUIT',
    'x'.repeat(5_000),
    '😀'.repeat(300),
    '\u2060',
  ],
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

function render(kind: string, data: unknown) {
  const read = readMailData(kind, data);
  if (read.outcome === 'invalid') return null;
  const written = writeMail(kind, JSON.parse(JSON.stringify(read.data)), links);
  if (written.outcome === 'invalid') throw new Error('it was right when it was read first');
  return renderMail(written.content, 'Turnpike');
}

test('no name, whatever it is, changes the build of a mail, its links or its lines', async () => {
  const random = createSeededRandom(20_300_101);
  for (const kind of MAIL_KINDS) {
    const plain = render(kind, MAIL_SAMPLES[kind]);
    for (let n = 0; n < 60; n += 1) {
      const spoilt = render(kind, spoilNames(MAIL_SAMPLES[kind], random));
      if (plain === null || spoilt === null) throw new Error(`${kind}: a name must not be refused`);
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

test('whatever stands in any field, the mail is refused or is a whole mail', async () => {
  const random = createSeededRandom(7);
  let written = 0;
  for (const kind of MAIL_KINDS) {
    for (let n = 0; n < 60; n += 1) {
      const mail = render(kind, spoil(MAIL_SAMPLES[kind], random));
      if (mail === null) continue;
      written += 1;
      expect(shape(mail.html).hrefs.every((href) => /^https?:\/\//.test(href))).toBe(true);
      expect(mail.html).not.toMatch(/<script|onerror=[^&]*>|<img/i);
      expect(await composeMessage(message(mail))).toMatchObject({ outcome: 'composed' });
    }
  }
  expect(written).toBeGreaterThan(30);
});

test('no address that holds anything hostile is one', () => {
  for (const text of HOSTILE.filter((one) => /[\s<>,;:"]|\p{Cc}|\p{Cs}/u.test(one))) {
    for (const address of [`a${text}@b.example`, `a@b.example${text}`, `${text}a@b.example`]) {
      expect({ address, ok: mailAddress.safeParse(address).success }).toEqual({ address, ok: false });
    }
  }
  for (const good of ['ada@customer.example', 'a+b.c@x.co', "o'neil@x.ie", 'ä@bücher.example']) {
    expect(mailAddress.safeParse(good).success).toBe(true);
  }
});
