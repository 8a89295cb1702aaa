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
  ];
  for (const [text, ...wanted] of cases) {
    test(text, () => {
      expect(spans(text)).toEqual(wanted);
    });
  }

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

  test('a span that ends before it begins is two dates', () => {
    expect(spans('2015 - 2012')).toEqual(['2015', '2012']);
  });
});
