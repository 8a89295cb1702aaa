import { type Finding, lineAt, type Tree } from './tree.ts';

/**
 * Rule 10: while a deployment is rolled out, processes of the version before run on the new schema. So a migration only
 * adds; what takes away or narrows what the old version uses is a step of its own, a release later, and says so above
 * the statement: `-- contract: why nothing that runs needs it any more`.
 */
const MARK = /^--\s*contract:\s*\S.{15,}$/im;
const MOST_BETWEEN_MARK_AND_STATEMENT = 400;

const NARROWING: readonly { readonly pattern: RegExp; readonly what: string }[] = [
  { pattern: /\bdrop\s+(?:table|column|view|type|schema|function|constraint)\b/gi, what: 'drops' },
  { pattern: /\balter\s+(?!index)\w+\s+[\w.]+\s+rename\b[^;]*/gi, what: 'renames' },
  { pattern: /\balter\s+(?:column\s+)?\w+\s+(?:set\s+data\s+)?type\b/gi, what: 'changes a type' },
  { pattern: /\balter\s+(?:column\s+)?\w+\s+set\s+not\s+null\b/gi, what: 'forbids null' },
  {
    pattern: /\badd\s+column\s+(?:if\s+not\s+exists\s+)?[^,;]*?\bnot\s+null\b[^,;]*/gi,
    what: 'adds a column that the version before does not fill',
  },
];

export function checkContractingMigrations(tree: Tree): Finding[] {
  return tree
    .filter(({ path }) => path.startsWith('migrations/') && path.endsWith('.sql'))
    .flatMap(({ path, text }) => {
      const bare = withoutComments(text);
      return NARROWING.flatMap(({ pattern, what }) =>
        [...bare.matchAll(pattern)]
          .filter(([found]) => !/\badd\s+column\b/i.test(found) || !/\b(?:default|generated)\b/i.test(found))
          .filter(({ 0: found, index }) => !isPutBack(found, bare.slice(index)))
          .filter(({ index }) => !isMarked(text, bare, index))
          .map(({ index }) => {
            const how = 'expand first and contract a release later, marked "-- contract: reason"';
            return { path, line: lineAt(text, index), problem: `${what}: ${how}` };
          }),
      );
    });
}

/** A table that gives its name to a new one in the same migration is there under it for the version before. */
function isPutBack(found: string, rest: string): boolean {
  const table = /^alter\s+table\s+([\w.]+)\s+rename\s+to\b/i.exec(found)?.[1];
  return table !== undefined && new RegExp(`\\bcreate\\s+(?:table|view)\\s+${table}\\b`, 'i').test(rest);
}

/** Blanked out, not removed: what is found keeps its place. */
function withoutComments(sql: string): string {
  return sql.replace(/--[^\n]*/g, (comment) => ' '.repeat(comment.length));
}

/** The mark is above its statement, after the end of the one before. */
function isMarked(text: string, bare: string, index: number): boolean {
  const begin = Math.max(bare.lastIndexOf(';', index) + 1, index - MOST_BETWEEN_MARK_AND_STATEMENT, 0);
  return MARK.test(text.slice(begin, index));
}
