import { describe, expect, test } from 'bun:test';
import { findDates, isoOf } from './dates.ts';

function spans(text: string): string[] {
  return findDates(text).map(({ from, to }) => {
    const end = to === null ? '' : to === 'present' ? ' > now' : ` > ${isoOf(to)}`;
    return `${from === null ? '?' : isoOf(from)}${end}`;
  });
}

describe('G-7 spans of time, in the ways that CVs have', () => {
  const cases: readonly (readonly [string, ...string[]])[] = [
    ['Jan 2010 - Present', '2010-01 > now'],
    ['06/2012 – 08/2015', '2012-06 > 2015-08'],
    ['June - August 2015', '2015-06 > 2015-08'],
    ['Summer 2011', '2011-06'],
    ['since 2014', '2014 > now'],
    ['2023 - 7 / 2024 - 1', '2023-07 > 2024-01'],
    ['2023 - 7 / presente', '2023-07 > now'],
    ['Feb 09/Jun 11', '2009-02 > 2011-06'],
    ['03.2015 bis heute', '2015-03 > now'],
    ['da gennaio 2015 a oggi', '2015-01 > now'],
    ['12/05/2011 to 30/11/2013', '2011-05 > 2013-11'],
    ["Oct'15 - till date", '2015-10 > now'],
    ['(2005 to Present) / (2004 to 2008)', '2005 > now', '2004 > 2008'],
    ['2016–        Associate Professor, University of Bergen', '2016 > now'],
    ['III 2015 - XI 2018', '2015-03 > 2018-11'],
    ['1 IX 2013 – 31 VIII 2014', '2013-09 > 2014-08'],
    ['od V 2008', '2008-05 > now'],
    ['Software Engineer II 2015 - 2018', '2015 > 2018'],
    ['Class XII 2013', '2013'],
    ['written in vi 2015', '2015'],
  ];
  for (const [text, ...wanted] of cases) {
    test(text, () => {
      expect(spans(text)).toEqual(wanted);
    });
  }

  test('months, "until today" and joints of languages of the north and the east', () => {
    const more: readonly (readonly [string, ...string[]])[] = [
      ['04/2018 – současnost', '2018-04 > now'],
      ['2010. jún. – 2012. szept.', '2010-06 > 2012-09'],
      ['2012. 09. – 2016. 06.', '2012-09 > 2016-06'],
      ['2015-től napjainkig', '2015 > now'],
      ['2015-től 2018-ig', '2015 > 2018'],
      ["2016'dan beri", '2016 > now'],
      ['março de 2012 até à data', '2012-03 > now'],
    ];
    for (const [text, ...wanted] of more) expect([text, ...spans(text)]).toEqual([text, ...wanted]);
    expect(spans('We moved in 2018. May was busy.')).toEqual(['2018']);
  });

  test('labelled, in two digits, quarters, over lines and in other languages', () => {
    const more: readonly (readonly [string, ...string[]])[] = [
      ['From: 03/2015 To: 06/2018', '2015-03 > 2018-06'],
      ['Von: 01.2015\nBis: 12.2018', '2015-01 > 2018-12'],
      ['2019-Q3 - 2020-Q1', '2019-07 > 2020-03'],
      ['Q4 2020', '2020-10'],
      ["Sept'19 – Oct ‘21", '2019-09 > 2021-10'],
      ["'15 - '18", '2015 > 2018'],
      ['3/15 - 6/18', '2015-03 > 2018-06'],
      ['2015/16', '2015 > 2016'],
      ['Mar 2015\n– Jun 2018', '2015-03 > 2018-06'],
      ['05/2015 –\nDeveloper', '2015-05 > now'],
      ['Март 2015 – настоящее время', '2015-03 > now'],
      ['2016年3月 – 2018年5月', '2016-03 > 2018-05'],
    ];
    for (const [text, ...wanted] of more) expect([text, ...spans(text)]).toEqual([text, ...wanted]);
    for (const text of ["the class of '15", 'rated 4/10', 'Date of birth'])
      expect([text, ...spans(text)]).toEqual([text]);
  });

  test('sums, versions, addresses and telephone numbers are no dates', () => {
    for (const text of [
      '$2,010 a month',
      'Windows 95',
      'Java 11',
      '1.2010.3',
      'room 20125',
      '2010%',
      'ISO 9001',
    ]) {
      expect(spans(text)).toEqual([]);
    }
  });

  test.each([
    '+44 29 2018 0456',
    'Tel: 029 2018 0456',
    'Mobile: +49 (0)30 2015-2016',
    '(415) 555-2019',
    'IBAN DE89 3704 0044 2018 0130 00',
    '4111 2012 2018 1111',
    'Hauptstr. 5\n2020 Hollabrunn',
    'San Diego, CA 92018-2019',
    '2000-123 Santarém',
    'ISO 9001:2015 and ISO/IEC 27001:2013',
    'Windows Server 2019 and SQL Server 2012',
    'EUR 2000 a month',
    '$ 2000',
    'for 2000 users',
    'Employee ID: 2018',
    'PO Box 2010',
  ])('%s has no year', (text) => {
    expect(spans(text)).toEqual([]);
  });

  const dated: readonly (readonly [string, ...string[]])[] = [
    ['T-Mobile 2012-2015', '2012 > 2015'],
    ['Head Office 2010 - 2014', '2010 > 2014'],
    ['2015 2016 2017 2018', '2015 > 2016', '2017 > 2018'],
    ['Cardiff, +44 29 2018 0456, since 2019', '2019 > now'],
    ['ISO 9001:2015 auditor, 2016 - 2018', '2016 > 2018'],
    ['SQL Server 2012, 2013 - 2015', '2013 > 2015'],
    ['Room 2012, June 2014 - May 2015', '2014-06 > 2015-05'],
    ['Red October 2014-03-01 — 2015-06-30', '2014-03 > 2015-06'],
  ];
  for (const [text, ...wanted] of dated) {
    test(`${text} still has its years`, () => {
      expect(spans(text)).toEqual(wanted);
    });
  }

  test('a span that ends before it begins is two dates', () => {
    expect(spans('2015 - 2012')).toEqual(['2015', '2012']);
  });
});
