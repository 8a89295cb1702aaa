import { scan } from '../tidy/scan.ts';
import { lineAt, type Tree } from '../tidy/tree.ts';

export interface Mutation {
  readonly path: string;
  readonly line: number;
  readonly index: number;
  readonly from: string;
  readonly to: string;
}

interface Mutator {
  /** Looks at code without comments whose strings are blank. */
  readonly pattern: RegExp;
  to(found: string): string;
}

const swapped = (pairs: Readonly<Record<string, string>>): Mutator => {
  const words = Object.keys(pairs).map((word) => word.replaceAll(/[|+*?.()]/g, '\\$&'));
  return { pattern: new RegExp(words.join('|'), 'g'), to: (found) => pairs[found] ?? found };
};

const MUTATORS: readonly Mutator[] = [
  // The formatter's blanks tell an operator from a type's brackets.
  swapped({ ' < ': ' <= ', ' <= ': ' < ', ' > ': ' >= ', ' >= ': ' > ' }),
  swapped({ ' === ': ' !== ', ' !== ': ' === ' }),
  swapped({ ' && ': ' || ', ' || ': ' && ' }),
  swapped({ ' + ': ' - ', ' - ': ' + ', ' * ': ' / ' }),
  swapped({ 'Math.min(': 'Math.max(', 'Math.max(': 'Math.min(' }),
  // Behind a colon a semicolon ends a type.
  {
    pattern: /(?<=(?:return|[^:] =|=>) )(?:true|false)(?=[;,)])|(?<=: )(?:true|false)(?=[,)}])/g,
    to: (found) => String(found !== 'true'),
  },
  { pattern: /(?<=\(|&& |\|\| )!(?=[a-z(])/g, to: () => '' },
  {
    pattern: /(?<=[ ([])\d+n?(?=[;,)\] ])/g,
    to: (found) => found.replace(/\d+/, (digits) => `${Number(digits) + 1}`),
  },
  // A statement of its own line, without which something does not happen.
  { pattern: /(?<=^ +)(?:await )?[a-z][\w.]*\([^\n;{}]*\);(?=$)/gm, to: () => '' },
];

/** Every small change that these files allow, in their order. */
export function findMutations(tree: Tree): Mutation[] {
  return tree.flatMap(({ path, text }) => {
    const { bare } = scan(text);
    return MUTATORS.flatMap(({ pattern, to }) =>
      [...bare.matchAll(pattern)].map(({ index, 0: found }) => {
        const from = text.slice(index, index + found.length);
        return { path, line: lineAt(text, index), index, from, to: to(found) };
      }),
    ).sort((one, other) => one.index - other.index);
  });
}

/** So many of them, the same for a seed as long as the files are, and at most two of a file. */
export function drawMutations(
  all: readonly Mutation[],
  count: number,
  below: (bound: number) => number,
): Mutation[] {
  const drawn: Mutation[] = [];
  const ofFile = new Map<string, number>();
  const left = [...all];
  while (drawn.length < count && left.length > 0) {
    const [one] = left.splice(below(left.length), 1);
    if (one === undefined || (ofFile.get(one.path) ?? 0) >= 2) continue;
    ofFile.set(one.path, (ofFile.get(one.path) ?? 0) + 1);
    drawn.push(one);
  }
  return drawn;
}

export function mutate(text: string, { index, from, to }: Mutation): string {
  return text.slice(0, index) + to + text.slice(index + from.length);
}
