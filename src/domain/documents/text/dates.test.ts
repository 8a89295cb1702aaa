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
    ['2005-2009', '2005 > 2009'],
    ['June - August 2015', '2015-06 > 2015-08'],
    ['Summer 2011', '2011-06'],
    ['since 2014', '2014 > now'],
    ['2023 - 7 / 2024 - 1', '2023-07 > 2024-01'],
    ['2019 / 3 – 2020 / 10', '2019-03 > 2020-10'],
    ['2023 - 7 / presente', '2023-07 > now'],
    ['2015 - 2018 / 2019 - 2020', '2015 > 2018', '2019 > 2020'],
    ['Feb 09/Jun 11', '2009-02 > 2011-06'],
    ['03.2015 bis heute', '2015-03 > now'],
    ['de janvier 2012 à mars 2014', '2012-01 > 2014-03'],
    ['enero de 2018 - diciembre de 2020', '2018-01 > 2020-12'],
    ['da gennaio 2015 a oggi', '2015-01 > now'],
    ['12/05/2011 to 30/11/2013', '2011-05 > 2013-11'],
    ["Oct'15 - till date", '2015-10 > now'],
    ['2014-03 - 2016-05', '2014-03 > 2016-05'],
    ['Sept. 2004-2005', '2004-09 > 2005'],
    ['(2005 to Present) / (2004 to 2008)', '2005 > now', '2004 > 2008'],
    ['May 3rd, 2018 until June 4, 2019', '2018-05 > 2019-06'],
    ['1999 2003', '1999 > 2003'],
    ['Dates   09/2017 →', '2017-09 > now'],
    ['2016–        Associate Professor, University of Bergen', '2016 > now'],
    ['III 2015 - XI 2018', '2015-03 > 2018-11'],
    ['1 IX 2013 – 31 VIII 2014', '2013-09 > 2014-08'],
    ['IX.2013 – obecnie   Pielęgniarka', '2013-09 > now'],
    ['od V 2008', '2008-05 > now'],
    ['Software Engineer II 2015 - 2018', '2015 > 2018'],
    ['Engineer II 2015 - present', '2015 > now'],
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
      ['leden 2019 – dosud', '2019-01 > now'],
      ['září 2014 – prosinec 2018', '2014-09 > 2018-12'],
      ['od 2017 do současnosti', '2017 > now'],
      ['jún 2012 – súčasnosť', '2012-06 > now'],
      ['2018. szeptember – jelenleg', '2018-09 > now'],
      ['2010. jún. – 2012. szept.', '2010-06 > 2012-09'],
      ['2012. 09. – 2016. 06.', '2012-09 > 2016-06'],
      ['2020/02 – napjainkig', '2020-02 > now'],
      ['2015-től napjainkig', '2015 > now'],
      ['2015-től 2018-ig', '2015 > 2018'],
      ['2016 óta', '2016 > now'],
      ['feb. 2013 – iul. 2017', '2013-02 > 2017-07'],
      ['2016 – până în prezent', '2016 > now'],
      ['Eki 2020 – Devam ediyor', '2020-10 > now'],
      ['Oca 2017 – Eyl 2020', '2017-01 > 2020-09'],
      ["2016'dan beri", '2016 > now'],
      ['od marca 2020 do dzisiaj', '2020-03 > now'],
      ['2019-04 – pågår', '2019-04 > now'],
      ['déc. 2015 – fév. 2019', '2015-12 > 2019-02'],
      ['sett. 2014 – tuttora', '2014-09 > now'],
      ['2021 – dato', '2021 > now'],
      ['março de 2012 até à data', '2012-03 > now'],
    ];
    for (const [text, ...wanted] of more) expect([text, ...spans(text)]).toEqual([text, ...wanted]);
    expect(spans('We moved in 2018. May was busy.')).toEqual(['2018']);
  });

  test('labelled, in two digits, quarters, over lines and in other languages', () => {
    const more: readonly (readonly [string, ...string[]])[] = [
      ['From: 03/2015 To: 06/2018', '2015-03 > 2018-06'],
      ['Start date: Jan 2015, End date: Dec 2018', '2015-01 > 2018-12'],
      ['Von: 01.2015\nBis: 12.2018', '2015-01 > 2018-12'],
      ['seit 03/2018', '2018-03 > now'],
      ['Desde 03/2015 hasta 06/2018', '2015-03 > 2018-06'],
      ['2019-Q3 - 2020-Q1', '2019-07 > 2020-03'],
      ['Q4 2020', '2020-10'],
      ["Sept'19 – Oct ‘21", '2019-09 > 2021-10'],
      ["'15 - '18", '2015 > 2018'],
      ['3/15 - 6/18', '2015-03 > 2018-06'],
      ['2015/16', '2015 > 2016'],
      ['1/2015-2/2016', '2015-01 > 2016-02'],
      ['2015 January - 2018 December', '2015-01 > 2018-12'],
      ['Mar 2015 → Jun 2018', '2015-03 > 2018-06'],
      ['Mar 2015\n– Jun 2018', '2015-03 > 2018-06'],
      ['05/2015 –\nDeveloper', '2015-05 > now'],
      ['2018 – actualidad', '2018 > now'],
      ['Mar 2015 – en cours', '2015-03 > now'],
      ['marzec 2015 – obecnie', '2015-03 > now'],
      ['Март 2015 – настоящее время', '2015-03 > now'],
      ['Ocak 2015 – Şubat 2016', '2015-01 > 2016-02'],
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
    '(029) 2018-0456',
    'Mobile: +49 (0)30 2015-2016',
    '00 44 20 1998 2001',
    '415-555-2019',
    '(415) 555-2019',
    '0171 2019 2020',
    'IBAN DE89 3704 0044 2018 0130 00',
    '4111 2012 2018 1111',
    'CH-2000 Neuchâtel',
    'Lange Leemstraat 12, 2018 Antwerpen',
    'Hauptstr. 5\n2020 Hollabrunn',
    'San Diego, CA 92018-2019',
    '2000-123 Santarém',
    'ISO 9001:2015 and ISO/IEC 27001:2013',
    'BS 7799-1999',
    'RFC 2018',
    'Windows Server 2019 and SQL Server 2012',
    'Visual Studio 2015/2017',
    'EUR 2000 a month',
    '2000 EUR',
    '$ 2000',
    '1999.00 euros',
    'for 2000 users',
    'über 2000 Mitarbeiter',
    'Employee ID: 2018',
    'Invoice no. 2019/045',
    'PO Box 2010',
    'Room 2012',
  ])('%s has no year', (text) => {
    expect(spans(text)).toEqual([]);
  });

  const dated: readonly (readonly [string, ...string[]])[] = [
    ['T-Mobile 2012-2015', '2012 > 2015'],
    ['Head Office 2010 - 2014', '2010 > 2014'],
    ['BS 2012', '2012'],
    ['2019 - 2021 Berlin', '2019 > 2021'],
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
