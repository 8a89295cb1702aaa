import type { Mention } from '../tagger/decode.ts';
import { headingOf } from '../text/headings.ts';
import type { LaidOutText } from '../text/lay-out.ts';
import type { Token } from '../text/tokens.ts';
import { companySuffixes, firstNames, lastNames, schoolHeads, titleHeads } from '../words/single-words.ts';

export interface FoundName {
  readonly value: string;
  readonly start: number;
  readonly end: number;
  readonly confidence: number;
}

interface Candidate {
  readonly from: number;
  readonly to: number;
  readonly score: number;
}

/** A CV says whose it is at its top; lines further down are other people. */
const TOP_SEGMENTS = 14;
const LABEL = /^(?:full |candidate )?(?:name|nom|nombre|nome|naam)$/i;
const HONORIFIC = /^(?:mr|mrs|ms|miss|dr|prof|herr|frau|m|mme|sr|sra|ing|eng|er)$/i;
const CREDENTIAL =
  /^(?:phd|ph\.d|md|m\.d|mba|cpa|pmp|rn|msc|bsc|esq|pe|cfa|jr|sr|ii|iii|iv|dipl|ing|ma|ba|ms|bs|med|msn|bsn|cissp|csm|acca|ca)$/i;

/** The best of the lines and mentions at the top, by what names look like and by the e-mail address. */
export function findName(laidOut: LaidOutText, mentions: readonly Mention[]): FoundName | null {
  const { tokens, tokenStarts, segments, text } = laidOut;
  const address =
    laidOut.emails[0]?.value
      .split('@')[0]
      ?.toLowerCase()
      .replace(/[^\p{L}]/gu, '') ?? '';
  const candidates: Candidate[] = [];
  const last = Math.min(segments.length, TOP_SEGMENTS);
  for (let segment = 0; segment < last; segment++) {
    const run = runOf(tokens, tokenStarts[segment] ?? 0, tokenStarts[segment + 1] ?? 0);
    if (run === null) continue;
    const isHeading =
      headingOf({ ...(segments[segment] as (typeof segments)[number]), text: textOf(tokens, run) }) !== null;
    if (isHeading) continue;
    const end = tokenStarts[segment + 1] ?? 0;
    const isWhole = run.to === end ? 1 : 0;
    const isLabelled = LABEL.test(
      textOf(tokens, { from: tokenStarts[segment] ?? 0, to: run.from }).replace(/[\s:.-]+$/, ''),
    );
    const tagged = mentions.some((one) => one.kind === 'name' && one.from < run.to && run.from < one.to);
    const other = mentions.some((one) => one.kind !== 'name' && one.from < run.to && run.from < one.to);
    const score =
      looks(tokens, run, address) +
      (segment === 0 ? 2 : segment < 3 ? 1 : 0) +
      isWhole +
      (tagged ? 3 : 0) -
      (other ? 2 : 0) +
      (isLabelled ? 5 : 0);
    candidates.push({ ...run, score });
  }
  for (const mention of mentions) {
    if (mention.kind !== 'name' || mention.to - mention.from > 6) continue;
    const early = mention.segment < TOP_SEGMENTS ? 2 : 0;
    candidates.push({
      from: mention.from,
      to: mention.to,
      score: looks(tokens, mention, address) + 3.5 + early,
    });
  }
  const best = candidates.reduce<Candidate | null>(
    (top, one) => (top === null || one.score > top.score ? one : top),
    null,
  );
  if (best === null || best.score < 2.5) return null;
  const [start, end] = [tokens[best.from]?.start ?? 0, tokens[best.to - 1]?.end ?? 0];
  const value = text.slice(start, end).replace(/\s+/g, ' ');
  return { value, start, end, confidence: Math.min(0.99, 0.4 + best.score / 16) };
}

/** The first run of words at a line's beginning that could be a name; a label and a title of honour are passed. */
function runOf(tokens: readonly Token[], from: number, to: number): { from: number; to: number } | null {
  let start = from;
  const colon = tokens.slice(from, Math.min(to, from + 4)).findIndex((token) => token.text === ':');
  if (
    colon > 0 &&
    LABEL.test(
      tokens
        .slice(from, from + colon)
        .map((token) => token.text)
        .join(' '),
    )
  )
    start = from + colon + 1;
  while (
    start < to &&
    (HONORIFIC.test(tokens[start]?.text ?? '') || /^["'.*_-]$/.test(tokens[start]?.text ?? ''))
  )
    start++;
  let end = start;
  while (end < to && end - start < 8) {
    const token = tokens[end];
    if (token === undefined || !/^(?:\p{L}[\p{L}\p{M}.'’-]*|\.)$/u.test(token.text)) break;
    if (CREDENTIAL.test(token.text) && end - start >= 2) break;
    end++;
  }
  while (end > start && tokens[end - 1]?.text === '.') end--;
  const words = tokens.slice(start, end).filter((token) => token.kind === 'word').length;
  return words === 0 || words > 5 ? null : { from: start, to: end };
}

function looks(tokens: readonly Token[], run: { from: number; to: number }, address: string): number {
  const words = tokens.slice(run.from, run.to).filter((token) => token.kind === 'word');
  let score = words.length === 2 || words.length === 3 ? 1.5 : words.length === 1 ? -2 : 0;
  const first = words[0]?.lower ?? '';
  if (firstNames.has(first)) score += 2;
  else if (words.some((word) => firstNames.has(word.lower))) score += 1;
  if (lastNames.has(words.at(-1)?.lower ?? '')) score += 1;
  const inAddress = words.filter(
    (word) => word.lower.length > 2 && address.includes(word.lower.replace(/[^\p{L}]/gu, '')),
  );
  score += Math.min(2, inAddress.length) * 2;
  if (
    words.some(
      (word) =>
        !/^\p{Lu}/u.test(word.text) &&
        !/^(?:de|da|di|van|von|der|den|la|le|bin|al|el|dos|del)$/i.test(word.text),
    )
  )
    score -= 2;
  for (const word of words) {
    if (titleHeads.has(word.lower) || schoolHeads.has(word.lower)) score -= 4;
    if (companySuffixes.has(word.lower) && words.length > 1) score -= 2;
    if (
      /^(?:resume|curriculum|vitae|cv|lebenslauf|street|road|avenue|drive|lane|city|india|usa|email|phone|mobile|address|objective|summary|profile|skills|experience|education|engineering|software|management|marketing|page|contact|confidential)$/i.test(
        word.text,
      )
    )
      score -= 5;
  }
  return score;
}

function textOf(tokens: readonly Token[], { from, to }: { from: number; to: number }): string {
  return tokens
    .slice(from, to)
    .map((token) => token.text)
    .join(' ');
}
