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

/** The fast test files that reach one of these files by their imports, the nearest first. */
export function reachedTests(root: string, changed: readonly string[]): string[] {
  const reached = reachedBy(readImporters(root, listFiles(root)), changed);
  return [...reached.keys()].filter((path) => isFast(path) && existsSync(join(root, path)));
}

/** Those, what a change touches without an import, and what is run after every change. */
export function affectedTests(root: string, changed: readonly string[]): string[] {
  const beside = BESIDE_IMPORTS.filter((one) => changed.some((path) => one.changed.test(path)));
  const patterns = [...beside.map(({ tests }) => tests), ...ALWAYS];
  const others = testFiles(root).filter((path) => isFast(path) && patterns.some((one) => one.test(path)));
  return [...new Set([...reachedTests(root, changed), ...others])];
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
