import { type Traced, traced } from '../evidence-notes.ts';
import type { DateSpan } from '../text/dates.ts';
import type { LaidOutText } from '../text/lay-out.ts';

export interface FoundProject {
  readonly name: Traced;
  readonly description: Traced | null;
  readonly date: DateSpan | null;
  readonly url: Traced | null;
}

const MOST_PROJECTS = 30;
const LONGEST_NAME = 90;
const LONGEST_DESCRIPTION = 800;

/** Under a heading for projects a short line begins one, and longer lines and bullets describe it. */
export function findProjects(laidOut: LaidOutText): FoundProject[] {
  const { segments, sections, headings, text, dates, links } = laidOut;
  const found: { name: Traced; from: number; to: number; body: number }[] = [];
  segments.forEach((segment, at) => {
    if (sections[at] !== 'projects' || headings[at] !== null) return;
    const last = found.at(-1);
    const title = titleEnd(segment.text);
    const begins =
      title !== null && !segment.isBulleted && (last === undefined || segment.beginsBlock || last.body > 0);
    if (begins && found.length < MOST_PROJECTS) {
      const end = segment.start + title;
      const rest = segment.end - end;
      found.push({
        name: traced(text, segment.start, end, 0.6),
        from: end,
        to: segment.end,
        body: rest > 20 ? 1 : 0,
      });
    } else if (last !== undefined) {
      last.to = Math.min(segment.end, last.from + LONGEST_DESCRIPTION);
      last.body++;
    }
  });
  return found.map(({ name, from, to }) => {
    const inside = (one: { start: number; end: number }) => one.start >= name.start && one.end <= to;
    const link = links.find(inside);
    const start = from + (/^[\s:–—-]*/.exec(text.slice(from, to))?.[0].length ?? 0);
    return {
      name,
      description: to - start > 12 ? traced(text, start, to, 0.5) : null,
      date: dates.find(inside) ?? null,
      url:
        link === undefined
          ? null
          : { value: link.value.url, start: link.start, end: link.end, confidence: 0.9 },
    };
  });
}

/** How far a line's title goes: the whole of a short line, or up to its colon or dash. */
function titleEnd(line: string): number | null {
  if (!/^[\p{Lu}\d"'“]/u.test(line)) return null;
  const parted = /^(.{3,70}?)\s*(?::|\s[–—-]\s|\(|,\s(?=(?:19|20)\d\d))/.exec(line)?.[1];
  if (parted !== undefined) return parted.length;
  return line.length <= LONGEST_NAME && !/[.;]$/.test(line) ? line.length : null;
}
