import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** One text file; the path is relative to the repository's root, with forward slashes. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

/** A repository as the rules see it: real, or made up by a test. */
export type Tree = readonly SourceFile[];

export interface Finding {
  readonly path: string;
  /** 1 where the file as a whole is meant. */
  readonly line: number;
  /** What is wrong and what to do. */
  readonly problem: string;
}

export function describeFinding(finding: Finding): string {
  return `${finding.path}:${finding.line} ${finding.problem}`;
}

export function isCode(path: string): boolean {
  return /\.(?:[cm]?[jt]sx?)$/.test(path);
}

/** Test code may import everything, also next to the rule it tests; so may code that builds a deployment. */
export function isTestCode(path: string): boolean {
  return /^(?:test|bench|quality|faults|simulation|deploy)\//.test(path) || /\.test\.[jt]sx?$/.test(path);
}

export function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}

/** What git tracks or would track. A file that holds a NUL is not text and is left out. */
export function readTree(root: string): Tree {
  return listPaths(root).flatMap((path) => {
    const found = statSync(join(root, path), { throwIfNoEntry: false });
    if (!found?.isFile()) return [];
    const text = readFileSync(join(root, path), 'utf8');
    return text.includes('\0') ? [] : [{ path, text }];
  });
}

/** What git tracks or would track; without git everything that .gitignore does not name. */
export function listPaths(root: string): string[] {
  const git = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  const paths = git.status === 0 ? git.stdout.split('\0').filter((path) => path !== '') : walk(root, root);
  return [...new Set(paths)].sort();
}

/** Where there is no git, or no repository: everything but what .gitignore's plain lines name. */
function walk(root: string, folder: string): string[] {
  const ignored = readFileSync(join(root, '.gitignore'), 'utf8')
    .split('\n')
    .map((line) => line.trim().replace(/\/$/, ''))
    .filter((line) => line !== '' && !line.startsWith('#'))
    .concat('.git')
    .map((line) => new Bun.Glob(line));
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (ignored.some((glob) => glob.match(entry.name))) return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? walk(root, path) : [path.slice(root.length + 1)];
  });
}
