import { findImports } from './imports.ts';
import { type Finding, isCode, isTestCode, type Tree } from './tree.ts';

/**
 * Rule 15: the walks of ARCHITECTURE.md: which files a call, an event or a batch goes through, in the order in which a reader
 * meets them. A walk is a numbered list under a heading `### …` of the section `## Walks`; the first code span of an item
 * is the path of a file. A heading without such a list is prose.
 */
interface Walk {
  readonly title: string;
  readonly line: number;
  readonly stops: readonly Stop[];
}

interface Stop {
  readonly path: string;
  readonly line: number;
  /** The number that it has in the list. */
  readonly number: number;
  /** Reached through a port or by a queue: src/start joins it to what comes before. */
  readonly isWired: boolean;
}

const DOCUMENT = 'ARCHITECTURE.md';
const SECTION = '## Walks';
const WIRED = '(wired by start)';
/** How many files a walk may have; one without a row may have any number. Each of these has to be there. */
const LONGEST: ReadonlyMap<string, number> = new Map([['A streamed chat call', 18]]);

/** Every stop of a walk exists, comes once, and is imported by one before it or joined to them by src/start. */
export function checkWalks(tree: Tree, longest = LONGEST): Finding[] {
  const document = tree.find(({ path }) => path === DOCUMENT);
  const walks = document === undefined ? [] : readWalks(document.text);
  const missing = [...longest.keys()]
    .filter((title) => !walks.some((walk) => walk.title === title))
    .map((title) => finding(1, `has no list under "### ${title}" in its section "${SECTION}"`));
  const imports = importsOf(tree);
  return [...missing, ...walks.flatMap((walk) => checkWalk(walk, imports, longest.get(walk.title)))];
}

function readWalks(text: string): Walk[] {
  const walks: { title: string; line: number; stops: Stop[] }[] = [];
  let isInSection = false;
  let item: Stop | null = null;
  for (const [at, line] of text.split('\n').entries()) {
    const heading = /^(#{1,6}) +(.*?) *$/.exec(line);
    if (heading !== null) {
      const [, marks = '', title = ''] = heading;
      if (marks.length <= 2) isInSection = `${marks} ${title}` === SECTION;
      if (isInSection && marks.length === 3) walks.push({ title, line: at + 1, stops: [] });
      item = null;
      continue;
    }
    const stops = walks.at(-1)?.stops;
    if (!isInSection || stops === undefined) continue;
    const numbered = /^(\d+)\. (.*)$/.exec(line);
    if (numbered !== null) {
      const path = /`([^`]+)`/.exec(numbered[2] ?? '')?.[1] ?? '';
      item = { path, line: at + 1, number: Number(numbered[1]), isWired: line.includes(WIRED) };
      stops.push(item);
    } else if (item !== null && /^\s+\S/.test(line)) {
      // The mark may be on a later line of the item.
      if (line.includes(WIRED)) stops[stops.length - 1] = { ...item, isWired: true };
    } else {
      item = null;
    }
  }
  return walks.filter(({ stops }) => stops.length > 0);
}

type Imports = ReadonlyMap<string, ReadonlySet<string>>;

function importsOf(tree: Tree): Imports {
  const files = tree.filter(({ path }) => isCode(path) && !isTestCode(path));
  return new Map(
    files.map((file) => [file.path, new Set(findImports(file).flatMap(({ target }) => target ?? []))]),
  );
}

function checkWalk({ title, line, stops }: Walk, imports: Imports, longest = Infinity): Finding[] {
  const findings = stops.flatMap((stop, at) => {
    const before = stops.slice(0, at).map(({ path }) => path);
    const problem = stop.number === at + 1 ? problemOf(stop, before, imports) : `must be number ${at + 1}`;
    return problem === null ? [] : [finding(stop.line, `${title}, ${stop.number}. ${stop.path}: ${problem}`)];
  });
  if (stops.length <= longest) return findings;
  return [finding(line, `${title}: has ${stops.length} files, at most ${longest} are allowed`), ...findings];
}

function problemOf({ path, isWired }: Stop, before: readonly string[], imports: Imports): string | null {
  if (!imports.has(path)) return 'is no file of the product';
  if (before.includes(path)) return 'goes back to a file that the walk has passed';
  if (before.length === 0) return null;
  const importer = before.find((earlier) => imports.get(earlier)?.has(path));
  if (!isWired) return importer === undefined ? `is imported by no file before it; is it "${WIRED}"?` : null;
  if (importer !== undefined) return `is imported by ${importer}: leave "${WIRED}" out`;
  const isJoined = [...imports].some(([from, targets]) => from.startsWith('src/start/') && targets.has(path));
  return isJoined ? null : 'is imported by no file of src/start, which is to join it';
}

function finding(line: number, problem: string): Finding {
  return { path: DOCUMENT, line, problem };
}
