import type { Mention } from '../tagger/decode.ts';
import type { LaidOutText } from '../text/lay-out.ts';
import type { Token } from '../text/tokens.ts';
import { titleHeads, titleModifiers } from '../words/single-words.ts';
import type { Entry } from './entries.ts';
import { isLabel, type SeenMentions } from './mentions.ts';

const SMALL = /^(?:of|and|&|for|the|de|di|du|des|der|für|und|e|y|et|\.|'|’|-|\/|\(|\))$/iu;
const JOINT = /^(?:,|-|–|—|at|@|\||:|bei|chez|\/|with|for)$/i;
const MOST_TOKENS = 9;

/**
 * An entry that has a position and a span of time names its employer too, and one with an employer its position: on the
 * same line, or on the line before or behind. What stands there in capitals, is nothing else and seems likely to the
 * tagger is taken for it.
 */
export function fillGaps(
  laidOut: LaidOutText,
  entries: readonly Entry[],
  { mentions, isLikely }: SeenMentions,
): void {
  const taken = [...mentions]
    .filter(({ kind }) => kind !== 'skill')
    .sort((one, other) => one.from - other.from);
  const used = new Set<number>();
  const isFree = (from: number, to: number) => !taken.some((one) => one.from < to && from < one.to);
  const claim = (run: { from: number; to: number } | null, kind: 'company' | 'title'): Mention | null => {
    if (run === null || used.has(run.from)) return null;
    const [first, last] = [laidOut.tokens[run.from], laidOut.tokens[run.to - 1]];
    if (first === undefined || last === undefined) return null;
    if (isLabel(laidOut, { start: first.start, end: last.end })) return null;
    // A school is an employer too; what is likely to be neither is a word that begins a line.
    const isPossible =
      isLikely(kind, run.from, run.to) || (kind === 'company' && isLikely('school', run.from, run.to));
    if (!isPossible) return null;
    used.add(run.from);
    return { kind, ...run, start: first.start, end: last.end, segment: first.segment, confidence: 0.4 };
  };
  for (const entry of entries) {
    if (entry.date === null) continue;
    if (entry.head === null && entry.part !== null) {
      const own = besideOf(laidOut, entry.part, isFree);
      entry.head = claim(own ?? lineNear(laidOut, entry, entry.part.segment, isFree, () => true), 'company');
    } else if (entry.part === null && entry.head !== null && !entry.inherits) {
      const isTitle = (words: readonly Token[]) =>
        words.some(({ lower }) => titleHeads.has(lower)) || titleModifiers.has(words[0]?.lower ?? '');
      entry.part = claim(lineNear(laidOut, entry, entry.head.segment, isFree, isTitle), 'title');
    }
  }
}

/** "Developer, Blue Harbour" and "Developer at Blue Harbour": behind the joint, on the same line. */
function besideOf(
  { tokens, tokenStarts }: LaidOutText,
  part: Mention,
  isFree: (from: number, to: number) => boolean,
): { from: number; to: number } | null {
  const end = tokenStarts[part.segment + 1] ?? 0;
  if (JOINT.test(tokens[part.to]?.text ?? '') && part.to + 1 < end) {
    const run = capitalRun(tokens, part.to + 1, end);
    if (run !== null && isFree(run.from, run.to)) return run;
  }
  const start = tokenStarts[part.segment] ?? 0;
  if (JOINT.test(tokens[part.from - 1]?.text ?? '') && part.from - 1 > start) {
    const run = capitalRun(tokens, start, part.from - 1);
    if (run !== null && run.to === part.from - 1 && isFree(run.from, run.to)) return run;
  }
  return null;
}

function lineNear(
  laidOut: LaidOutText,
  entry: Entry,
  segment: number,
  isFree: (from: number, to: number) => boolean,
  accepts: (words: readonly Token[]) => boolean,
): { from: number; to: number } | null {
  const { tokens, tokenStarts, segments, headings, sections } = laidOut;
  for (const near of [segment + 1, segment - 1, segment + 2]) {
    if (near < entry.firstSegment - 1 || near > entry.lastSegment + 1) continue;
    const [from, to] = [tokenStarts[near] ?? 0, tokenStarts[near + 1] ?? 0];
    const line = segments[near];
    if (line === undefined || to - from > MOST_TOKENS + 3 || headings[near] !== null || line.isBulleted)
      continue;
    if (sections[near] !== sections[segment] || /[.!?:]$/.test(line.text)) continue;
    const run = capitalRun(tokens, from, to);
    if (
      run !== null &&
      run.from === from &&
      isFree(run.from, run.to) &&
      accepts(tokens.slice(run.from, run.to))
    )
      return run;
  }
  return null;
}

/** Words in capitals with the small ones that names have, from the first token on. */
function capitalRun(tokens: readonly Token[], from: number, to: number): { from: number; to: number } | null {
  let end = from;
  for (let at = from; at < to && at - from < MOST_TOKENS; at++) {
    const token = tokens[at];
    if (token === undefined) break;
    if (token.kind === 'word' && /^[\p{Lu}\d]/u.test(token.text)) end = at + 1;
    else if (!SMALL.test(token.text)) break;
  }
  const first = tokens[from];
  if (end === from || first === undefined || !/^\p{Lu}/u.test(first.text)) return null;
  return end - from === 1 && first.text.length < 3 ? null : { from, to: end };
}
