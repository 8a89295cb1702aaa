import { describe, expect, test } from 'bun:test';
import { findEmails, findLinks, findPhones } from './contact-details.ts';
import { layOut } from './layout.ts';

const emails = (text: string) => findEmails(text).map(({ value }) => value);
const phones = (text: string) => findPhones(text, []).map(({ value }) => value);

describe('G-7 e-mail addresses, with the blanks that readers put into them', () => {
  const cases: readonly (readonly [string, ...string[]])[] = [
    ['write to jane.doe@firm.co.uk.', 'jane.doe@firm.co.uk'],
    ['jane @ example . com', 'jane@example.com'],
    ['jane@gmail. com and more', 'jane@gmail.com'],
    ['me@firm .com', 'me@firm.com'],
    ['Email: jane. doe@example.com', 'jane.doe@example.com'],
    ['j@g mail.com', 'j@gmail.com'],
    ['a (at) b (dot) de', 'a@b.de'],
    ['jane at example dot com', 'jane@example.com'],
    ['We met at foo. me@x.io', 'me@x.io'],
    ['jane@example.comPhone 12', 'jane@example.com'],
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

describe('G-7 telephone numbers', () => {
  test('of many countries', () => {
    for (const number of [
      '(123)345-7890',
      '+49 170 1234567',
      '+1 (555) 123-4567 x12',
      '0039 347 123 4567',
      '555-123-4567',
      '+91-98450-12345',
      '020 7946 0958',
    ]) {
      expect(phones(`call ${number} today`)).toEqual([number]);
    }
  });

  test('spans of years, ids, dates and sums are none', () => {
    for (const text of [
      '2005 2009',
      '2005 - 2009',
      'id 12345678',
      '12/05/2011',
      '1111111111',
      '$1234567890',
    ]) {
      expect(phones(text)).toEqual([]);
    }
  });
});

test('G-7 a telephone number with a year in it is a number and no year; codes and sums are neither', () => {
  const cv = layOut('Ana Gwyn\nTel. +44 29 2018 0456\nhttps://ana.example/2018/04/post\nNurse, 2019 - 2021');
  expect(cv.phones.map(({ value }) => value)).toEqual(['+44 29 2018 0456']);
  expect(cv.dates.map(({ from, to }) => [from, to])).toEqual([
    [
      { year: 2019, month: null },
      { year: 2021, month: null },
    ],
  ]);
  for (const text of [
    'San Diego, CA 92018-2019',
    '2000-123 Santarém',
    'Ref: 2019/045',
    '4111 2012 2018 1111',
  ]) {
    expect(layOut(text).phones).toEqual([]);
    expect(layOut(text).dates).toEqual([]);
  }
});

test('G-7 profiles are told by their network', () => {
  const text =
    'linkedin.com/in/jane-doe | https://github.com/janedoe | www.janedoe.dev | ASP.NET and Node.js';
  expect(findLinks(text).map(({ value }) => [value.network, value.username, value.url])).toEqual([
    ['LinkedIn', 'jane-doe', 'linkedin.com/in/jane-doe'],
    ['GitHub', 'janedoe', 'https://github.com/janedoe'],
    [null, null, 'www.janedoe.dev'],
  ]);
});
