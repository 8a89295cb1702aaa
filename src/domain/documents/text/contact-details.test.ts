import { describe, expect, test } from 'bun:test';
import { findLinks, findPhones } from './contact-details.ts';
import { layOut } from './layout.ts';

const phones = (text: string) => findPhones(text, []).map(({ value }) => value);

describe('G-7 telephone numbers', () => {
  test('of many countries', () => {
    for (const number of [
      '+49 170 1234567',
      '+1 (555) 123-4567 x12',
      '0039 347 123 4567',
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

const digits = (text: string) => layOut(text).phones.map(({ value }) => value.replace(/\D/g, ''));

test('G-7 numbers that a narrow column breaks or a label runs into', () => {
  const cases: readonly (readonly [string, ...string[]])[] = [
    ['+1 555\n123 4567', '15551234567'],
    ['Phone: +91 98765\n43210', '919876543210'],
    ['+1-555-123-\n4567', '15551234567'],
    ['Mobile: 98765\n  43210\nPune', '9876543210'],
    ['Phone: 5551234567Email: x@y.com', '5551234567'],
    ['x@y.com+1 555 123 4567', '15551234567'],
    ['＋49 171 1234567', '491711234567'],
    ['555 123 4567 | 555 987 6543', '5551234567', '5559876543'],
  ];
  for (const [text, ...wanted] of cases) expect([text, ...digits(text)]).toEqual([text, ...wanted]);
  for (const text of ['Nurse 2015\n2018 Bonn', 'since +5\n12 people', '1234\n5678901'])
    expect([text, ...digits(text)]).toEqual([text]);
});

test('G-7 national forms, with a label in the language of the CV or without one', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['+55 (11) 98765-4321', '5511987654321'],
    ['Rua das Acácias, 45 - São Paulo\n(11) 98765-4321', '11987654321'],
    ['Avenida Sete, 9, Salvador, (071)3123-4567', '07131234567'],
    ['Born 12.03.1990, 0171 1234567', '01711234567'],
    ['Muncie, Indiana 47306 (123)345-7890', '1233457890'],
    ['+84 703651356 21/6 Dong Hamlet', '84703651356'],
    ['555 123 4567 / 555 765 4321', '5551234567'],
  ];
  for (const [text, wanted] of cases) expect([text, ...digits(text)]).toEqual([text, wanted]);
  for (const text of [
    'ISBN 978-3-16-148410-0',
    'Vinohradská 1511/230, Praha',
    'from 12345678',
    '01/2015 - 03/2018',
    'x.com/a/72/173/4712',
  ])
    expect([text, ...digits(text)]).toEqual([text]);
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
  for (const number of ['1-415-926-1955', '1 (415) 926-2015'])
    expect(layOut(`Ana Gwyn\n${number}\nNurse`).phones.map(({ value }) => value)).toEqual([number]);
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

test('G-7 profiles are recognised by their network', () => {
  const text =
    'linkedin.com/in/jane-doe | https://github.com/janedoe | www.janedoe.dev | ASP.NET and Node.js';
  expect(findLinks(text).map(({ value }) => [value.network, value.username, value.url])).toEqual([
    ['LinkedIn', 'jane-doe', 'linkedin.com/in/jane-doe'],
    ['GitHub', 'janedoe', 'https://github.com/janedoe'],
    [null, null, 'www.janedoe.dev'],
  ]);
});
