import { describe, expect, test } from 'bun:test';
import { composeMessage, readEml } from '../../../src/adapters/mail/mime-message.ts';
import { cleanReason } from '../../../src/adapters/mail/smtp.ts';
import { readServerAddress } from '../../../src/adapters/mail/smtp-session.ts';
import type { MailMessage } from '../../../src/ports/mail.ts';
import { createSeededRandom } from '../../doubles/seeded-random.ts';
import { message } from './mail-server.ts';

describe('a composed message', () => {
  const breaks = ['\r\nBcc: eve@x.example', '\nX: y', '\r', '\u0000', '\u2028', '\u0085', '\u007f'];
  const places: readonly ((text: string) => Partial<MailMessage>)[] = [
    (text) => ({ subject: `Hello${text}` }),
    (text) => ({ to: `ada${text}@customer.example` }),
    (text) => ({ to: `ada@customer.example${text}` }),
    (text) => ({ from: { name: `Turnpike${text}`, address: 'a@mail.example' } }),
    (text) => ({ from: { name: 'Turnpike', address: `a@mail.example${text}` } }),
    (text) => ({ messageId: `id${text}@mail.example` }),
    (text) => ({ headers: { 'X-Note': `a${text}` } }),
    (text) => ({ headers: { [`X-Note${text}`]: 'a' } }),
  ];

  test('has no field where a line break starts a header', async () => {
    for (const place of places) {
      for (const text of breaks) {
        expect(await composeMessage(message(place(text)))).toMatchObject({ outcome: 'refused' });
      }
    }
  });

  test('goes to one address, and not to a value that could be two', async () => {
    const hostile = ['a@b.example, c@d.example', 'A <a@b.example>', 'a@b@c', 'a b@c', '', 'a', '@'];
    for (const to of hostile) {
      expect(await composeMessage(message({ to }))).toEqual({
        outcome: 'refused',
        reason: 'the recipient is no mail address',
      });
    }
    expect(await composeMessage(message({ to: 'ada@bücher.example' }))).toMatchObject({
      outcome: 'composed',
      to: 'ada@xn--bcher-kva.example',
    });
  });

  test('A-13 is the same bytes the second time', async () => {
    const one = message();
    const [first, second] = [await composeMessage(one), await composeMessage(one)];
    expect(first).toEqual(second);
    expect(first.outcome).toBe('composed');
  });

  test('is refused past a mebibyte, and with a subject of a thousand characters', async () => {
    expect(await composeMessage(message({ text: 'x'.repeat(1_100_000) }))).toMatchObject({
      outcome: 'refused',
    });
    expect(await composeMessage(message({ subject: 'x'.repeat(1_000) }))).toMatchObject({
      outcome: 'refused',
    });
  });

  test('reads no file and fetches nothing, for any content', async () => {
    const html = '<img src="file:///etc/hostname"><link href="http://127.0.0.1:1/">';
    const composed = await composeMessage(message({ html }));
    if (composed.outcome !== 'composed') throw new Error(composed.reason);
    expect(readEml(composed.raw.toString()).html).toBe(html);
  });

  test('is parsed back as it was written, for any content', async () => {
    const random = createSeededRandom(13);
    const alphabet = [...'a =.\n-ä😀<_\t', '  ', '--', '=?', '?=', '=3D', 'ß'.repeat(60)];
    const text = (length: number) => Array.from({ length }, () => random.pick(alphabet)).join('');
    for (let n = 0; n < 200; n += 1) {
      const subject = `s${text(random.below(40)).replace(/[\n\t]/g, '')}e`
        .slice(0, 200)
        .toWellFormed()
        .replace(/\s+/g, ' ');
      const body = `b${text(random.below(300))}e`;
      const composed = await composeMessage(message({ subject, text: body, html: `<p>${body}</p>` }));
      if (composed.outcome !== 'composed') throw new Error(composed.reason);
      const read = readEml(composed.raw.toString());
      expect({ n, text: read.text, html: read.html }).toEqual({ n, text: body, html: `<p>${body}</p>` });
      if (!subject.includes('=?')) expect({ n, subject: read.subject }).toEqual({ n, subject });
    }
  });
});

test('a reason has no address, no link and no second line', () => {
  expect(
    cleanReason(
      '550 <Ada.L@X.example>\r\n unknown: ada.l, smtp://u:p@h/ see HTTPS://a.b/?token=1',
      'ada.l@x.example',
    ),
  ).toBe('550 <[address]> unknown: [address], [link] see [link]');
  expect(cleanReason('x'.repeat(10_000), 'a@b.example')).toHaveLength(300);
  expect(cleanReason('no such user: a+b.c', 'a+b.c@x.example')).toBe('no such user: [address]');
});

describe('the address of a server', () => {
  const read = (address: string) => {
    const result = readServerAddress(address);
    return result.outcome === 'read' ? result.server : result.reason;
  };

  test('says host, port, encryption and account', () => {
    expect(read('smtps://a%40b:p%3Aw@mail.example')).toEqual({
      host: 'mail.example',
      port: 465,
      encryption: 'from-the-start',
      account: { user: 'a@b', pass: 'p:w' },
    });
    expect(read('smtp://[::1]:2525')).toEqual({
      host: '::1',
      port: 2525,
      encryption: 'where-offered',
      account: null,
    });
    expect(read('smtp://mail.example')).toMatchObject({ port: 587, encryption: 'where-offered' });
    expect(read('smtp://mail.example?tls=required')).toMatchObject({ encryption: 'required' });
  });

  test('sends a password unencrypted only where configured, or to this machine', () => {
    expect(read('smtp://u:p@mail.example')).toMatchObject({ encryption: 'required' });
    expect(read('smtp://u:p@mail.example?tls=off')).toMatchObject({ encryption: 'none' });
    expect(read('smtp://u:p@127.0.0.1')).toMatchObject({ encryption: 'where-offered' });
  });

  test('is refused with a reason that does not repeat it', () => {
    const wrong = [
      'mail.example',
      'http://hunter2@mail.example',
      'smtp://u:hunter2@mail.example/path',
      'smtp://mail.example?pool=1',
      'smtps://mail.example?tls=off',
      'smtp://u@mail.example',
      'smtp://:hunter2@mail.example',
      'smtp://u:%zz@mail.example',
    ];
    for (const address of wrong) {
      const result = readServerAddress(address);
      expect({ address, ...result }).toMatchObject({ outcome: 'invalid' });
      expect(JSON.stringify(result)).not.toContain('hunter2');
    }
  });
});
