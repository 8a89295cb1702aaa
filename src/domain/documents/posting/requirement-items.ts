import { type Traced, traced } from '../evidence-notes.ts';
import type { LaidOutText } from '../text/lay-out.ts';
import type { Segment } from '../text/segments.ts';
import { type PostingSection, postingHeading } from './posting-headings.ts';

export interface PostingItem extends Traced {
  readonly section: PostingSection;
}

interface Piece {
  readonly section: PostingSection;
  readonly start: number;
  end: number;
  readonly isBulleted: boolean;
}

const LONGEST_ITEM = 400;

/** A line without a bullet of its own goes on with the one above, unless an empty line stands between. */
function continues(text: string, last: Piece, segment: Segment): boolean {
  if (segment.isBulleted || segment.beginsBlock) return false;
  if (last.isBulleted || !segment.beginsLine) return true;
  return /^[\p{Ll}\d(&,]/u.test(segment.text) || /[,;–&]$/.test(text.slice(last.start, last.end));
}

/** The items of a posting, each in its section: bullets with their wrapped lines, and sentences where it has prose. */
export function itemsOf({ segments, text }: LaidOutText): PostingItem[] {
  const pieces: Piece[] = [];
  let section: PostingSection = 'top';
  segments.forEach((segment, at) => {
    const heading = postingHeading(segment, segments[at + 1]);
    const start = segment.start + (heading?.length ?? 0);
    if (heading !== null) section = heading.section;
    if (start >= segment.end) return;
    const last = pieces.at(-1);
    const endsList =
      heading === null && last?.isBulleted === true && last.section === section && segment.beginsBlock;
    if (endsList && !segment.isBulleted) section = 'other';
    const goesOn = heading === null && last?.section === section && continues(text, last, segment);
    if (goesOn && last !== undefined && segment.end - last.start <= LONGEST_ITEM * 3) last.end = segment.end;
    else pieces.push({ section, start, end: segment.end, isBulleted: segment.isBulleted });
  });
  return pieces.flatMap((piece) => (piece.isBulleted ? [item(text, piece)] : sentencesOf(text, piece)));
}

function item(text: string, { start, end, section }: Piece): PostingItem {
  return { ...traced(text, start, Math.min(end, start + LONGEST_ITEM), 0.8), section };
}

function sentencesOf(text: string, { start, end, section }: Piece): PostingItem[] {
  const items: PostingItem[] = [];
  let from = start;
  const whole = text.slice(start, end);
  for (const match of whole.matchAll(/(?<=[\p{Ll}\d)]{2}[.!?;])\s+(?=[\p{Lu}\d])/gu)) {
    items.push({ ...traced(text, from, start + match.index, 0.6), section });
    from = start + match.index + match[0].length;
  }
  items.push({ ...traced(text, from, Math.min(end, from + LONGEST_ITEM), 0.6), section });
  return items.filter(({ value }) => value.length > 2 && value.length <= LONGEST_ITEM);
}

const NICE =
  /\b(?:nice to have|a plus|is a bonus|bonus|preferred|preferably|ideally|desirable|desired|an advantage|advantageous|would be (?:great|good|nice|helpful)|beneficial|good to have|not required but|von vorteil|wünschenswert|idealerweise|gerne auch|serait un plus|un atout|idéalement|apprécié\w*|deseable|se valorará|valorable|un plus|preferibil\w*|gradit\w*|desejável|diferencial|is een pré|een pluspunt|bij voorkeur)\b/i;
const MUST =
  /\b(?:must(?: have)?|required|requires?|mandatory|essential|minimum|at least|you (?:have|bring|possess|need)|proven|strong (?:knowledge|experience|background|understanding)|solid (?:knowledge|experience)|proficien(?:t|cy) (?:in|with)|experience (?:in|with|as)|knowledge of|degree in|zwingend|erforderlich|voraussetzung|mindestens|erfahrung (?:in|mit)|kenntnisse|exigé|indispensable|requis|imprescindible|necesari\w*|richiest\w*|obrigatóri\w*|vereist|minimaal)\b/i;

export interface SortedItems {
  readonly must: readonly PostingItem[];
  readonly nice: readonly PostingItem[];
  readonly tasks: readonly PostingItem[];
  readonly benefits: readonly PostingItem[];
}

/** The section says what an item is; its wording can make a must-have a nice-to-have, never the other way round. */
export function sortItems(items: readonly PostingItem[]): SortedItems {
  const hasSections = items.some(({ section }) => section === 'must');
  const sorted = {
    must: [] as PostingItem[],
    nice: [] as PostingItem[],
    tasks: [] as PostingItem[],
    benefits: [] as PostingItem[],
  };
  for (const one of items) {
    const { section, value } = one;
    if (section === 'benefits') sorted.benefits.push(one);
    else if (section === 'tasks') sorted.tasks.push(one);
    else if (section === 'nice') sorted.nice.push(one);
    else if (section === 'must' || section === 'education')
      (NICE.test(value) ? sorted.nice : sorted.must).push(one);
    else if (section !== 'apply' && NICE.test(value) && value.length < 200) sorted.nice.push(one);
    else if (section !== 'apply' && !hasSections && MUST.test(value) && value.length < 300)
      sorted.must.push(one);
  }
  return sorted;
}
