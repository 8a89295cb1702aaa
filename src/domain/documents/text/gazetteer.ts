import {
  companyHeads,
  companySuffixes,
  isSchoolWord,
  type KnownPlace,
  type KnownSkill,
  needsCompany,
  placeBook,
  skillBook,
} from '../words/word-lists.ts';
import type { SectionKind } from './sections.ts';
import type { SeenPhrase, Segment, Token } from './tokens.ts';

export interface SkillSeen extends SeenPhrase<KnownSkill> {
  readonly start: number;
  readonly end: number;
}

interface Surroundings {
  readonly tokens: readonly Token[];
  readonly sections: readonly SectionKind[];
  readonly segments: readonly Segment[];
}

const SEPARATORS = new Set([
  ',',
  ';',
  '/',
  '(',
  ')',
  ':',
  '&',
  '·',
  '|',
  '+',
  'and',
  'or',
  'und',
  'et',
  'y',
  'e',
  'en',
  '.',
]);

/** Skills by their known names. A name that is also an everyday word counts only if it looks like the skill. */
export function knownSkillsIn({ tokens, sections, segments }: Surroundings): SkillSeen[] {
  const shouted = new Set(
    segments.flatMap(({ text }, at) => (text.length > 12 && text === text.toUpperCase() ? [at] : [])),
  );
  const isUnderSkills = (token: Token | undefined) =>
    token !== undefined && sections[token.segment] === 'skills';
  const isListed = (from: number, to: number) => {
    const [before, first, after] = [tokens[from - 1], tokens[from], tokens[to]];
    if (first === undefined) return false;
    const closedLeft =
      before === undefined || before.segment !== first.segment || SEPARATORS.has(before.lower);
    const closedRight = after === undefined || after.segment !== first.segment || SEPARATORS.has(after.lower);
    if (!closedLeft || !closedRight) return false;
    const isAlone = before?.segment !== first.segment && after?.segment !== first.segment;
    // A single cell under "Skills" or a row of names is a list. A single line elsewhere may be a name or a heading.
    return isUnderSkills(first) || !isAlone;
  };
  const accepts = ({ from, to, value }: SeenPhrase<KnownSkill>): boolean => {
    const first = tokens[from];
    if (first === undefined) return false;
    // A single lower-case word of one or two letters is not trusted.
    if (value.trust === 'plain')
      return !(to - from === 1 && first.text.length <= 2 && first.text === first.lower);
    const startsHigh = /^[^\p{Ll}]/u.test(first.text);
    const beginsSentence = tokens[from - 1]?.segment !== first.segment;
    const isShouted = shouted.has(first.segment);
    if (value.trust === 'capital') return (startsHigh && !beginsSentence && !isShouted) || isListed(from, to);
    return startsHigh && isListed(from, to) && (isUnderSkills(first) || hasNeighbour(tokens, from, to));
  };
  return skillBook.find(tokens, accepts).flatMap((seen) => {
    const start = tokens[seen.from]?.start;
    const end = tokens[seen.to - 1]?.end;
    return start === undefined || end === undefined ? [] : [{ ...seen, start, end }];
  });
}

/** Whether a neighbouring name in its row is a skill with a trusted name. */
function hasNeighbour(tokens: readonly Token[], from: number, to: number): boolean {
  const segment = tokens[from]?.segment;
  for (const at of [from - 2, from - 3, to + 1, to + 2]) {
    const token = tokens[at];
    if (token === undefined || token.segment !== segment) continue;
    const trust = skillBook.of(token.text)?.trust;
    if (trust === 'plain' || (trust === 'capital' && token.text !== token.lower)) return true;
  }
  return false;
}

export interface PlaceSeen {
  readonly from: number;
  readonly to: number;
  readonly start: number;
  readonly end: number;
  readonly city: string | null;
  readonly region: string | null;
  readonly country: string | null;
  readonly countryCode: string | null;
}

/** `Palo Alto, CA`, `Mumbai, Maharashtra, India`, `80331 München`: neighbouring names of one place are combined. */
export function knownPlacesIn(tokens: readonly Token[]): PlaceSeen[] {
  const seen = placeBook.find(tokens, (one) => looksLikePlace(tokens, one));
  const places: PlaceSeen[] = [];
  for (let at = 0; at < seen.length; at++) {
    const group = [seen[at] as SeenPhrase<KnownPlace>];
    while (follows(tokens, group.at(-1), seen[at + 1])) group.push(seen[++at] as SeenPhrase<KnownPlace>);
    const place = placeOf(tokens, group);
    if (place !== null) places.push(place);
  }
  return places;
}

function looksLikePlace(tokens: readonly Token[], { from, to, value }: SeenPhrase<KnownPlace>): boolean {
  const first = tokens[from];
  if (first === undefined || !/^['’]?\p{Lu}/u.test(first.text)) return false;
  const isCode =
    (value.kind === 'region' && value.isCode) || (value.kind === 'country' && first.text.length <= 2);
  if (!isCode) return true;
  if (first.text !== first.text.toUpperCase()) return false;
  if (value.kind === 'country') return true;
  // A region code alone is ambiguous: it needs a capitalized word and a comma, or a known city, before it.
  const before = tokens[from - 1];
  const earlier = before?.lower === ',' ? tokens[from - 2] : before;
  return (
    earlier !== undefined &&
    earlier.kind === 'word' &&
    /^\p{Lu}/u.test(earlier.text) &&
    to - from === 1 &&
    (before?.lower === ',' || placeBook.of(earlier.text)?.kind === 'city')
  );
}

function follows(
  tokens: readonly Token[],
  last: SeenPhrase<KnownPlace> | undefined,
  next: SeenPhrase<KnownPlace> | undefined,
): boolean {
  if (last === undefined || next === undefined) return false;
  const rank = { city: 0, region: 1, country: 2 };
  if (rank[next.value.kind] <= rank[last.value.kind]) return false;
  if (tokens[next.from]?.segment !== tokens[last.to - 1]?.segment) return false;
  const between = tokens.slice(last.to, next.from);
  return between.length <= 2 && between.every((token) => /^(?:,|-|–|\(|\/|\d{4,6})$/.test(token.text));
}

function placeOf(tokens: readonly Token[], group: readonly SeenPhrase<KnownPlace>[]): PlaceSeen | null {
  const textOf = (one: SeenPhrase<KnownPlace> | undefined) =>
    one === undefined
      ? null
      : tokens
          .slice(one.from, one.to)
          .map((token) => token.text)
          .join(' ')
          .replace(/ ([.-]) ?/g, '$1 ')
          .trim();
  const city = group.find((one) => one.value.kind === 'city');
  const region = group.find((one) => one.value.kind === 'region');
  const country = group.find((one) => one.value.kind === 'country');
  let from = group[0]?.from ?? 0;
  const to = group.at(-1)?.to ?? 0;
  let cityText = textOf(city);
  const isBehindCode = /^\d{4,5}$/.test(tokens[from - 1]?.text ?? '');
  if (group.length === 1 && cityText !== null && needsCompany(cityText) && !isBehindCode) return null;
  // An unknown town before a known region: "Charlottesburg, VA".
  if (city === undefined && region !== undefined) {
    const town = townBefore(tokens, from);
    if (town !== null) {
      from = town.from;
      cityText = town.text;
    } else if (region.value.kind === 'region' && region.value.isCode) {
      return null;
    }
  }
  const start = tokens[from]?.start;
  const end = tokens[to - 1]?.end;
  if (start === undefined || end === undefined) return null;
  const countryCode = (country ?? region ?? city)?.value.countryCode ?? null;
  return {
    from,
    to,
    start,
    end,
    city: cityText,
    region: textOf(region),
    country: textOf(country),
    countryCode,
  };
}

function townBefore(tokens: readonly Token[], from: number): { from: number; text: string } | null {
  if (tokens[from - 1]?.lower !== ',') return null;
  let at = from - 2;
  const segment = tokens[from]?.segment;
  const words: string[] = [];
  while (words.length < 3) {
    const token = tokens[at];
    if (
      token === undefined ||
      token.segment !== segment ||
      token.kind !== 'word' ||
      !/^\p{Lu}[\p{L}.'’-]+$/u.test(token.text)
    )
      break;
    words.unshift(token.text);
    at--;
  }
  return words.length === 0 ? null : { from: at + 1, text: words.join(' ') };
}

const TOWN_BEHIND_HYPHEN =
  /(?<=[\p{L}\d.)])-(?=(\p{Lu}[\p{L}.'’-]+(?: \p{Lu}[\p{L}.'’-]+){0,2}), [A-Z]{2}(?: \d{5})?$)/gu;

/**
 * "Caring Hands LLC-Decatur, GA", as printed by job sites, is split into two parts. "Winston-Salem, NC" and "Coca-Cola,
 * GA" are not. The text after the hyphen must be a known town, or follow a name of several words.
 */
export function cutTowns(segments: readonly Segment[]): Segment[] {
  return segments.flatMap((segment) => {
    const { text, start } = segment;
    if (!text.includes('-') || text.length > LONGEST_WITH_TOWN) return [segment];
    const cuts = [...text.matchAll(TOWN_BEHIND_HYPHEN)];
    const cut = cuts.find(([, town = '']) => placeBook.of(town)?.kind === 'city') ?? cuts.at(-1);
    if (cut === undefined) return [segment];
    const [before, town = ''] = [text.slice(0, cut.index), cut[1]];
    const whole = `${/\S*$/.exec(before)?.[0]}-${town}`;
    const isTown = placeBook.of(town)?.kind === 'city' || / \S+$/.test(before);
    const isOne =
      [before, whole].some((phrase) => placeBook.of(phrase) !== undefined) || isOrganisation(town);
    if (!isTown || isOne) return [segment];
    const at = start + cut.index;
    return [
      { ...segment, end: at, text: before },
      {
        ...segment,
        start: at + 1,
        text: text.slice(cut.index + 1),
        isBulleted: false,
        beginsLine: false,
        beginsBlock: false,
      },
    ];
  });
}

const LONGEST_WITH_TOWN = 120;

function isOrganisation(phrase: string): boolean {
  const words = phrase.toLowerCase().split(' ');
  return words.some((word) => isSchoolWord(word) || companySuffixes.has(word) || companyHeads.has(word));
}
