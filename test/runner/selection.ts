import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { listPaths } from '../tidy/tree.ts';
import { reachedBy, readImporters } from './import-graph.ts';

/** Kept apart by name: long histories, generated input by the thousand, kills, floods, and every form in a browser. */
const SLOW = /\.slow\.test\.tsx?$/;
const TEST = /\.test\.tsx?$/;

/** Changes of these files change what tests see, without an import. */
const BESIDE_IMPORTS: readonly { readonly changed: RegExp; readonly tests: RegExp }[] = [
  { changed: /^migrations\//, tests: /\.test\.ts$/ },
  { changed: /^console\//, tests: /^test\/console\// },
  { changed: /^deploy\//, tests: /^test\/deployment\// },
  { changed: /^docs\//, tests: /^test\/(?:[^/]+|system\/embedded)\.test\.ts$/ },
];

/** Whatever changed: the rules of the house, and the letter of the two interface documents. */
const ALWAYS = [
  /^test\/[^/]+\.test\.ts$/,
  /documented-errors\.test\.ts$/,
  /^test\/backend\/schema\.test\.ts$/,
];

export function isSlow(path: string): boolean {
  return SLOW.test(path);
}

function isFast(path: string): boolean {
  return TEST.test(path) && !isSlow(path);
}

export function testFiles(root: string): string[] {
  return listFiles(root).filter((path) => TEST.test(path));
}

/** How much of one process a change may take, of which there are three on two cores: less than a minute. */
export const CHANGED_MS = 90_000;

/** These put a whole service together. */
const WHOLE = /^src\/start\/|-under-test\.ts$/;

/** The fast test files that reach one of these files by their imports, the nearest first. */
export function reachedTests(root: string, changed: readonly string[]): string[] {
  const importers = readImporters(root, listFiles(root));
  const reached = reachedBy(importers, changed, (path) => WHOLE.test(path));
  return reached.filter((path) => isFast(path) && existsSync(join(root, path)));
}

export interface Affected {
  readonly paths: readonly string[];
  /** How many more a change reaches, further away than the time allows. */
  readonly left: number;
}

/**
 * What is run after every change, what these touch without an import, and the tests that reach them, the nearest first and as
 * many as take `budgetMs` of one process.
 */
export function affectedTests(
  root: string,
  changed: readonly string[],
  msOf: (path: string) => number,
  budgetMs: number,
): Affected {
  const beside = BESIDE_IMPORTS.filter((one) => changed.some((path) => one.changed.test(path)));
  const patterns = [...beside.map(({ tests }) => tests), ...ALWAYS];
  const others = testFiles(root).filter((path) => isFast(path) && patterns.some((one) => one.test(path)));
  const reached = reachedTests(root, changed).filter((path) => !others.includes(path));
  const near = nearest(reached, msOf, budgetMs);
  return { paths: [...others, ...near], left: reached.length - near.length };
}

/** As many of these files as take so long in one process, in their order. */
export function nearest(
  reached: readonly string[],
  msOf: (path: string) => number,
  budgetMs: number,
): string[] {
  let spentMs = 0;
  return reached.filter((path) => {
    spentMs += msOf(path);
    return spentMs <= budgetMs;
  });
}

/** What differs from a commit, with what is not committed and not yet tracked. */
export function changedSince(root: string, commit: string): string[] {
  const tracked = git(root, ['diff', '--name-only', '-z', '--no-renames', commit, '--']);
  return [...tracked, ...git(root, ['ls-files', '-z', '--others', '--exclude-standard'])];
}

function listFiles(root: string): string[] {
  return listPaths(root).filter((path) => existsSync(join(root, path)));
}

function git(root: string, words: readonly string[]): string[] {
  const { status, stdout, stderr } = spawnSync('git', words, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${words[0]}: ${stderr.trim()}`);
  return stdout.split('\0').filter((path) => path !== '');
}
