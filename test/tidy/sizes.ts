import { posix } from 'node:path';
import { scan } from './scan.ts';
import { type Finding, isCode, isTestCode, type SourceFile, type Tree } from './tree.ts';

export const longestFile = 600;
export const longestTestFile = 700;
const longestFunction = 70;
export const fullestFolder = 20;

interface FoundFunction {
  readonly name: string;
  readonly line: number;
  /** Without the functions inside of it, each of which is counted by itself: a factory is a small module. */
  readonly lines: number;
}

/** Rule 3: files and functions that one can take in at a look. */
export function checkSizes(tree: Tree): Finding[] {
  return tree.filter(isMeasured).flatMap((file): Finding[] => {
    const { path } = file;
    const lines = lineCount(file);
    const limit = isTestCode(path) ? longestTestFile : longestFile;
    const whole: Finding[] =
      lines <= limit
        ? []
        : [{ path, line: 1, problem: `${lines} lines, more than ${limit}: split it by concept` }];
    const functions = (isCode(path) ? findFunctions(file) : [])
      .filter((found) => found.lines > longestFunction)
      .map(({ name, line, lines }) => {
        const problem = `${name} has ${lines} lines, more than ${longestFunction}: give its parts names`;
        return { path, line, problem };
      });
    return [...whole, ...functions];
  });
}

/** Rule 3, second half: a folder is read at a glance, or has sub-folders. */
export function checkFolders(tree: Tree): Finding[] {
  const counts = new Map<string, number>();
  for (const { path } of tree.filter(isProductCode)) {
    const folder = posix.dirname(path);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > fullestFolder)
    .map(([path, count]) => ({
      path,
      line: 1,
      problem: `${count} source files, more than ${fullestFolder}: merge what is read together, or add sub-folders`,
    }));
}

export function isProductCode({ path }: SourceFile): boolean {
  return /^(?:src|console)\//.test(path) && isCode(path) && !isTestCode(path);
}

export function lineCount({ text }: SourceFile): number {
  return text.trimEnd().split('\n').length;
}

function isMeasured({ path }: SourceFile): boolean {
  return /^(?:src|console|test|bench)\//.test(path) && (isCode(path) || /\.(?:css|html)$/.test(path));
}

/**
 * By the layout that Biome gives: a function's last line has the indentation of its first and begins with
 * the closing bracket. Groups of tests are no functions to read in one go.
 */
export function findFunctions(file: SourceFile): FoundFunction[] {
  const found = findWholeFunctions(file);
  return found.map((one) => {
    const inside = found.filter((other) => encloses(one, other));
    const outermost = inside.filter((other) => !inside.some((another) => encloses(another, other)));
    const nestedLines = outermost.reduce((sum, other) => sum + other.lines, 0);
    return { ...one, lines: one.lines - nestedLines };
  });
}

function encloses(outer: FoundFunction, inner: FoundFunction): boolean {
  return outer !== inner && outer.line <= inner.line && inner.line + inner.lines <= outer.line + outer.lines;
}

function findWholeFunctions(file: SourceFile): FoundFunction[] {
  const { code, bare } = scan(file.text);
  const lines = bare.split('\n').map((line) => line.trimEnd());
  const codeLines = code.split('\n');
  return lines.flatMap((line, index) => {
    const closing = line.endsWith('{') ? '}' : line.endsWith('=> (') ? ')' : null;
    if (closing === null) return [];
    const first = firstLineOf(lines, index);
    const header = lines
      .slice(first, index + 1)
      .join(' ')
      .trim();
    if (!isFunction(header, line)) return [];
    const last = lines.findIndex((other, at) => {
      return at > index && other.trim().startsWith(closing) && indentation(other) === indentation(line);
    });
    if (last === -1) return [];
    const name = nameIn(header) ?? (codeLines[first] ?? '').trim();
    return [{ name, line: first + 1, lines: last - first + 1 }];
  });
}

function indentation(line: string): number {
  return line.length - line.trimStart().length;
}

/** A signature of several lines ends with one that begins with a bracket, below its first. */
function firstLineOf(lines: readonly string[], index: number): number {
  const depth = indentation(lines[index] ?? '');
  let first = index;
  while (first > 0 && /^[)}>\]]/.test((lines[first] ?? '').trim())) {
    first--;
    while (first > 0 && (lines[first] === '' || indentation(lines[first] ?? '') > depth)) first--;
  }
  return first;
}

const notAFunction = /^(?:\}|if|for|while|switch|catch|else|do|try|with|class|interface|describe)\b/;
const method =
  /^(?:(?:public|private|protected|static|override|async|get|set) )*\*?[#\w$]+(?:<.*>)?\(.*\)(?:: .*)? \{$/;

function isFunction(header: string, lastLine: string): boolean {
  if (notAFunction.test(header)) return false;
  if (/=> [{(]$/.test(lastLine) || /=> \(\{$/.test(lastLine)) return true;
  if (/^(?:export )?(?:default )?(?:async )?function\b/.test(header)) return /\).*\{$/.test(lastLine);
  return method.test(header);
}

function nameIn(header: string): string | undefined {
  const names = [
    /\bfunction\*? ([\w$]+)/,
    /^(?:export )?(?:const|let) ([\w$]+)/,
    /^([\w$]+): (?:async )?[(<]/,
  ];
  for (const pattern of names) {
    const name = pattern.exec(header)?.[1];
    if (name !== undefined) return name;
  }
  return method.test(header) ? /([#\w$]+)(?:<[^(]*>)?\(/.exec(header)?.[1] : undefined;
}
