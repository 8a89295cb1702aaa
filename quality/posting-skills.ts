import { findPhrases } from '../src/domain/documents/posting/read-posting.ts';
import { networkScores } from '../src/domain/documents/tagger/signs.ts';
import { readWeights } from '../src/domain/documents/tagger/weights.ts';
import { layOut } from '../src/domain/documents/text/layout.ts';
import type { TokenScores } from '../src/ports/networks/token-scores.ts';
import type { Tally } from './score.ts';
import { readSentences, type Span } from './tagged-sentences.ts';

interface PostingSkillTallies {
  readonly exact: Tally;
  /** A span that shares a character with a wanted one. */
  readonly touching: Tally;
  /** The same two with the network beside the linear tagger. */
  readonly networkExact: Tally;
  readonly networkTouching: Tally;
  /** Equal spans by the word list alone. */
  readonly listed: Tally;
  readonly listedTouching: Tally;
  readonly baseline: Tally;
}

/** What the engine finds in sentences, each read alone; abilities and knowledge are both wanted. */
export async function measurePostingSkills(
  file: string,
  tokenScores: TokenScores,
): Promise<PostingSkillTallies> {
  const weights = readWeights().posting;
  const tallies = {
    exact: tally(),
    touching: tally(),
    networkExact: tally(),
    networkTouching: tally(),
    listed: tally(),
    listedTouching: tally(),
    baseline: tally(),
  };
  for (const { text, abilities, knowledge } of readSentences(file)) {
    const wanted = [...abilities, ...knowledge];
    const laidOut = layOut(text);
    const found = findPhrases(laidOut, weights);
    count(tallies.exact, wanted, found, isEqual);
    count(tallies.touching, wanted, found, isTouching);
    const scores = await networkScores(tokenScores, 'posting', laidOut);
    const foundByBoth = findPhrases(laidOut, weights, scores);
    count(tallies.networkExact, wanted, foundByBoth, isEqual);
    count(tallies.networkTouching, wanted, foundByBoth, isTouching);
    count(tallies.listed, wanted, laidOut.skills, isEqual);
    count(tallies.listedTouching, wanted, laidOut.skills, isTouching);
    const capitals = [...text.matchAll(/(?<=\s)[A-Z][\w+#.-]*[A-Z+#][\w+#.-]*/g)].map((match) => ({
      start: match.index,
      end: match.index + match[0].length,
    }));
    count(tallies.baseline, wanted, capitals, isEqual);
  }
  return tallies;
}

const isEqual = (one: Span, other: Span) => one.start === other.start && one.end === other.end;
const isTouching = (one: Span, other: Span) => one.start < other.end && other.start < one.end;

function tally(): Tally {
  return { right: 0, extra: 0, missed: 0 };
}

function count(
  into: Tally,
  wanted: readonly Span[],
  found: readonly Span[],
  isSame: (one: Span, other: Span) => boolean,
): void {
  const left = [...found];
  for (const one of wanted) {
    const at = left.findIndex((other) => isSame(one, other));
    if (at === -1) into.missed++;
    else {
      left.splice(at, 1);
      into.right++;
    }
  }
  into.extra += left.length;
}
