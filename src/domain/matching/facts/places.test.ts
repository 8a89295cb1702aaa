import { describe, expect, test } from 'bun:test';
import { countryName, placeCloseness, placeFrom, placesIn } from './places.ts';

const home = (city: string | null, country: string | null, region: string | null = null) =>
  placeFrom({ city, region, country }) ?? { city: null, region: null, country: null };
const closest = (location: string, talent: ReturnType<typeof home>) => {
  const all = placesIn(location).flatMap((place) => placeCloseness(place, talent) ?? []);
  return all.length === 0 ? null : Math.max(...all);
};

describe('A-12 where a job is', () => {
  test.each([
    ['Berlin, Germany', ['berlin', null, 'DE']],
    ['London (Hybrid)', ['london', null, null]],
    ['Hybrid in London, UK', ['london', null, 'GB']],
    ['The Hague, The Netherlands', ['the hague', null, 'NL']],
    ['Warszawa, Polska', ['warszawa', null, 'PL']],
    ['Indianapolis, IN', ['indianapolis', 'indiana', null]],
    ['Bengaluru, IN', ['bengaluru', null, 'IN']],
    ['Austin, TX, USA', ['austin', 'texas', 'US']],
    ['Portland, OR 97201, USA', ['portland', 'oregon', 'US']],
    ['Atlanta, Georgia', ['atlanta', 'georgia', null]],
    ['Tbilisi, Georgia', ['tbilisi', null, 'GE']],
    ['D-10115 Berlin, Germany', ['berlin', null, 'DE']],
    ['5038 ER Tilburg', ['tilburg', null, null]],
    ['Wedel, DE, 22880', ['wedel', null, 'DE']],
    ['Bavaria, Germany', [null, 'bavaria', 'DE']],
    ['Limburg, Germany', ['limburg', null, 'DE']],
    ['Remote (EU)', [null, null, 'EU']],
    ['Remote within the EU', [null, null, 'EU']],
    ['DACH region', [null, null, 'XD']],
    ['Remote, UK only', [null, null, 'GB']],
  ])('A-12 is read as people write it: %s', (location, [city, region, country]) => {
    expect(placesIn(location)).toEqual([{ city, region, country } as never]);
  });

  test('A-12 several places are several, and what names no place is none', () => {
    const of = (location: string) => placesIn(location).map(({ city, country }) => city ?? country);
    expect(of('Berlin; Munich')).toEqual(['berlin', 'munich']);
    expect(of('BERLIN OR MUNICH')).toEqual(['berlin', 'munich']);
    expect(of('UK & Ireland')).toEqual(['GB', 'IE']);
    expect(of('Bosnia and Herzegovina')).toEqual(['BA']);
    expect(of('Newcastle and Gateshead')).toEqual(['newcastle and gateshead']);
    for (const none of ['EMEA', 'Remote', 'Worldwide', 'Global', 'Fully remote'])
      expect(of(none)).toEqual([]);
  });

  test('A-12 an area is its countries: a job in the EU is for people in any of them, and for no others', () => {
    expect(closest('Remote (EU)', home('Porto', 'PT'))).toBe(1);
    expect(closest('Remote (EU)', home('Leeds', 'GB'))).toBe(0);
    expect(closest('Remote (EU)', home('Porto', null))).toBeNull();
    expect(closest('Europe', home('Leeds', 'GB'))).toBe(1);
    expect(closest('DACH', home('Graz', 'AT'))).toBe(1);
    expect(['EU', 'XD', 'NL', 'FR'].map(countryName)).toEqual([
      ...['the European Union', 'Germany, Austria or Switzerland', 'the Netherlands', 'France'],
    ]);
  });

  test('A-12 a job in a whole region is for people anywhere in it', () => {
    expect(closest('Bavaria, Germany', home('München', 'DE', 'Bayern'))).toBe(1);
    expect(closest('Bavaria, Germany', home('Köln', 'DE', 'NRW'))).toBe(0.4);
    expect(closest('Texas, USA', home('Dallas', 'US', 'TX'))).toBe(1);
    expect(closest('Munich, Bavaria, Germany', home('Nürnberg', 'DE', 'Bavaria'))).toBe(0.7);
    expect(closest('Lahore, Punjab, Pakistan', home('Amritsar', 'IN', 'Punjab'))).toBe(0);
  });
});
