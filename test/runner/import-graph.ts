import { readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** The files that import a file, by its path. */
export type Importers = ReadonlyMap<string, readonly string[]>;

const TRANSPILERS = {
  '.ts': new Bun.Transpiler({ loader: 'ts' }),
  '.tsx': new Bun.Transpiler({ loader: 'tsx', tsconfig: '{"compilerOptions":{"jsx":"react"}}' }),
};
/** What is not imported but started: a thread or a process, by its path. */
const STARTED = /\bnew URL\(\s*'(\.\.?\/[^']+\.ts)'\s*,\s*import\.meta\.url/g;

/** Imports of types alone do not count: they cannot change what a program does. */
export function readImporters(root: string, paths: readonly string[]): Importers {
  const importers = new Map<string, string[]>();
  for (const path of paths) {
    const transpiler = TRANSPILERS[posix.extname(path) as keyof typeof TRANSPILERS];
    if (transpiler === undefined) continue;
    const text = readFileSync(join(root, path), 'utf8');
    const started = [...text.matchAll(STARTED)].map(([, target = '']) => target);
    const targets = [...transpiler.scanImports(text).map((one) => one.path), ...started]
      .filter((target) => /^\.\.?\//.test(target))
      .map((target) => posix.join(posix.dirname(path), target));
    for (const target of new Set(targets)) {
      const known = importers.get(target);
      if (known === undefined) importers.set(target, [path]);
      else known.push(path);
    }
  }
  return importers;
}

/**
 * Every file that reaches one of these by its imports, these first and the nearest next. What reaches them through a file
 * that puts a whole service together comes last: it reaches everything.
 */
export function reachedBy(
  importers: Importers,
  changed: readonly string[],
  isWhole: (path: string) => boolean = () => false,
): string[] {
  const reached = new Set(changed);
  const whole = new Set<string>();
  // A set hands out what is added while it is read.
  for (const path of reached) {
    if (isWhole(path) && !changed.includes(path)) whole.add(path);
    else for (const importer of importers.get(path) ?? []) reached.add(importer);
  }
  for (const path of whole) for (const importer of importers.get(path) ?? []) whole.add(importer);
  return [...new Set([...reached, ...whole])];
}
