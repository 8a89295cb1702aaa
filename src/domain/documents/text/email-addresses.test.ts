import { describe, expect, test } from 'bun:test';
import { cpuMsOf } from '../../../../test/doubles/cpu-time.ts';
import { findEmails } from './email-addresses.ts';

const emails = (text: string) => findEmails(text).map(({ value }) => value);

describe('G-7 e-mail addresses, with the blanks that readers put into them', () => {
  const cases: readonly (readonly [string, ...string[]])[] = [
    ['write to jane.doe@firm.co.uk.', 'jane.doe@firm.co.uk'],
    ['jane @ example . com', 'jane@example.com'],
    ['jane@gmail. com and more', 'jane@gmail.com'],
    ['ana@yahoo.com.mx', 'ana@yahoo.com.mx'],
    ['Email: jane. doe@example.com', 'jane.doe@example.com'],
    ['a (at) b (dot) de', 'a@b.de'],
    ['jane at example dot com', 'jane@example.com'],
    ['We met at foo. me@x.io', 'me@x.io'],
    ['one@a.org, two@b.org', 'one@a.org', 'two@b.org'],
    ['look at that dot'],
    ['@handle and nothing'],
  ];
  for (const [text, ...wanted] of cases) {
    test(text, () => {
      expect(emails(text)).toEqual(wanted);
    });
  }

  test('the place is that of the address, blanks included', () => {
    const text = `${'word '.repeat(200)}jane @ example . com`;
    expect(findEmails(text)).toEqual([{ start: 1000, end: 1020, value: 'jane@example.com' }]);
  });
});

test('G-7 addresses that a layout broke over lines', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['john.doe@\nexample.com', 'john.doe@example.com'],
    ['john.doe@exam-\nple.com', 'john.doe@example.com'],
    ['blue-harbour.example\njohn.doe@blue-\nharbour.example', 'john.doe@blue-harbour.example'],
    ['john_\ndoe@gmail.com', 'john_doe@gmail.com'],
    ['Anna-Maria Doe\nE-mail: anna-\nmaria@example.com', 'anna-maria@example.com'],
    ['Wrote software.\njohn@example.com\nIn 2015', 'john@example.com'],
  ];
  for (const [text, wanted] of cases) expect([text, ...emails(text)]).toEqual([text, wanted]);
});

test('G-7 addresses that a layout ran into their neighbours', () => {
  const cases: readonly (readonly [string, ...string[]])[] = [
    ['E-mail:john@x.comPhone:+1 555 123 4567', 'john@x.com'],
    ['a.first@gmail.comb.second@yahoo.com', 'a.first@gmail.com', 'b.second@yahoo.com'],
    ['john@example.comLinkedIn: linkedin.com/in/jd', 'john@example.com'],
    ['john@example.comwww.john.dev', 'john@example.com'],
    ['+919876543210john.doe@gmail.com', 'john.doe@gmail.com'],
    ['9876543210@example.com', '9876543210@example.com'],
    ['Emailjohn.doe@gmail.com', 'john.doe@gmail.com'],
    ['john@haven.lolPhone: 555', 'john@haven.lol'],
    ['Oslo | hi @haven.me', 'hi@haven.me'],
    ['<john@example.com>,jane@x.org', 'john@example.com', 'jane@x.org'],
  ];
  for (const [text, ...wanted] of cases) expect([text, ...emails(text)]).toEqual([text, ...wanted]);
});

test('G-7 addresses that are spelled or spread out', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['john [at] xyz [dot] com', 'john@xyz.com'],
    ['john.doe[@]gmail.com', 'john.doe@gmail.com'],
    ['john.doe＠gmail.com', 'john.doe@gmail.com'],
    ['j o h n @ g m a i l . c o m', 'john@gmail.com'],
    ['john@gmail.co m', 'john@gmail.com'],
  ];
  for (const [text, wanted] of cases) expect([text, ...emails(text)]).toEqual([text, wanted]);
  for (const text of [
    'git@github.com:john/x.git',
    'at work. In time',
    'PDF Resume @Jane.pdf',
    'mail on custom @mailbunny.ai aliases',
  ])
    expect([text, ...emails(text)]).toEqual([text]);
});

test('a text of nothing but signs is read in a moment', async () => {
  for (const text of [
    '@'.repeat(200_000),
    'a@'.repeat(100_000),
    'a . @ b . '.repeat(20_000),
    ' at a dot '.repeat(20_000),
  ]) {
    expect(await cpuMsOf(() => findEmails(text))).toBeLessThan(2_000);
  }
});
