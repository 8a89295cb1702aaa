import { posix } from 'node:path';
import { type Finding, lineAt, type Tree } from './tree.ts';

/** History names files that are gone. */
const HISTORY = 'CHANGELOG.md';

const FENCED = /^ *(```|~~~)[\s\S]*?^ *\1 *$/gm;
const CODE = /(?<!`)`([^`\n]+)`(?!`)/g;
const LINK = /\]\(([^)\s]+)\)/g;
const SOURCE_NAME = /\.(?:tsx?|mjs|sql)$/;

/**
 * Rule 14: a path that a document names exists. Looked at are links, and in backticks what begins with a folder of the
 * repository's top or ends as a source file does. `*` stands for a part of a name. A shortened path (`limits.ts`,
 * `model/check-answer.ts`) is looked for below the README's own folder, in other documents anywhere.
 */
export function checkDocPaths(tree: Tree): Finding[] {
  const paths = tree.map(({ path }) => path);
  const tops = new Set(paths.filter((path) => path.includes('/')).map((path) => path.split('/')[0] ?? ''));
  return tree
    .filter(({ path }) => path.endsWith('.md') && path !== HISTORY)
    .flatMap(({ path, text }) => {
      const folder = posix.dirname(path);
      const own = path.endsWith('/README.md') ? paths.filter((one) => one.startsWith(`${folder}/`)) : paths;
      const exists = (name: string) => hasPath(paths, name) || hasPath(own, name, true);
      const prose = text.replace(FENCED, (block) => block.replace(/[^\n]/g, ' '));
      const named = [...prose.matchAll(CODE)].flatMap(({ 1: code = '', index }) =>
        namesIn(code, tops).flatMap((name) => (exists(name) ? [] : [{ name, index }])),
      );
      const linked = [...prose.matchAll(LINK)].flatMap(({ 1: target = '', index }) => {
        const name = posix.join(folder, target.replace(/#.*$/, ''));
        return isOurs(target) && !hasPath(paths, name) ? [{ name: target, index }] : [];
      });
      return [...named, ...linked].map(({ name, index }) => ({
        path,
        line: lineAt(prose, index),
        problem: `names ${name}, which does not exist: name what has its place now`,
      }));
    });
}

/** What of a code span is a path of this repository. Placeholders (`bench/<name>.ts`, `src/domain/…`) are none. */
function namesIn(code: string, tops: ReadonlySet<string>): string[] {
  return code
    .split(/\s+/)
    .map((word) => word.replace(/[.,:;/]+$/, ''))
    .filter((word) => /^[\w.*][\w./*-]*$/.test(word) && !word.includes('..'))
    .filter((word) => {
      const [first = '', second] = word.split('/');
      return (second !== undefined && tops.has(first)) || (SOURCE_NAME.test(word) && !word.startsWith('*'));
    });
}

/** Pictures are no text, and so not in the tree. */
function isOurs(target: string): boolean {
  return !/^(?:[a-z]+:|#|\/)|\.(?:png|jpe?g|gif|webp|pdf)$/i.test(target);
}

/** A file or a folder of that path, or, where `anywhere` is set, one whose path ends so. */
function hasPath(paths: readonly string[], name: string, anywhere = false): boolean {
  const pattern = name
    .split('*')
    .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'))
    .join('[^/]*');
  const wanted = new RegExp(`${anywhere ? '(?:^|/)' : '^'}${pattern}(?:/|$)`);
  return name === '.' || paths.some((path) => wanted.test(path));
}
