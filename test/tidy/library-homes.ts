import { findImports, packageOf } from './imports.ts';
import { scan } from './scan.ts';
import * as tables from './tables.ts';
import { type Finding, isCode, isTestCode, lineAt, type SourceFile, type Tree } from './tree.ts';

type Home = tables.LibraryHome;

/** Rule 2: each library is imported only where it is at home. */
export function checkLibraryHomes(tree: Tree, homes: readonly Home[] = tables.libraryHomes): Finding[] {
  const bunHome = homes.find((one) => one.name === 'bun');
  return tree
    .filter((file) => isCode(file.path))
    .flatMap((file) => [...checkImports(file, homes), ...checkBunGlobal(file, bunHome)]);
}

function checkImports(file: SourceFile, homes: readonly Home[]): Finding[] {
  return findImports(file).flatMap(({ specifier, target, line }) => {
    if (specifier === null || target !== null || isTestCode(file.path)) return [];
    const name = packageOf(specifier);
    const home = homes.find((one) => one.name === name);
    if (home === undefined) {
      const problem = `${name} has no home: give it a row in test/tidy/tables.ts, or do without it`;
      return [{ path: file.path, line, problem }];
    }
    return isAtHome(file.path, home) ? [] : [{ path: file.path, line, problem: notAtHome(name, home) }];
  });
}

function checkBunGlobal(file: SourceFile, home: Home | undefined): Finding[] {
  if (home !== undefined && isAtHome(file.path, home)) return [];
  const { bare } = scan(file.text);
  return [...bare.matchAll(/(?<![.\w$])Bun\./g)].map((match) => ({
    path: file.path,
    line: lineAt(bare, match.index),
    problem: home === undefined ? 'Bun has no home' : notAtHome('Bun', home),
  }));
}

function isAtHome(path: string, home: Home): boolean {
  if (isTestCode(path)) return true;
  const liesIn = (beginning: string) => path.startsWith(beginning);
  return home.homes.some(liesIn) && !home.never?.some(liesIn);
}

function notAtHome(name: string, home: Home): string {
  const except = home.never === undefined ? '' : ` but ${home.never.join(', ')}`;
  return `${name} is used outside of ${home.homes.join(', ')}${except}: ${home.reason}`;
}

const manifestPath = 'package.json';
const reasonsPath = 'docs/dependencies.md';

/** Rule 2, second half: exact versions, a written reason for each dependency, and no home without one. */
export function checkDependencies(tree: Tree, homes: readonly Home[] = tables.libraryHomes): Finding[] {
  const manifest = tree.find((file) => file.path === manifestPath);
  if (manifest === undefined) return [];
  const versions = dependenciesOf(manifest.text);
  const reasons = tree.find((file) => file.path === reasonsPath)?.text ?? '';
  const find = (line: number, problem: string): Finding => ({ path: manifestPath, line, problem });

  const ofDependencies = [...versions].flatMap(([name, version]) => {
    const line = lineAt(manifest.text, manifest.text.indexOf(`"${name}":`));
    const isExact = /^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version);
    return [
      ...(isExact ? [] : [find(line, `${name} is "${version}": pin one exact version`)]),
      ...(hasLine(reasons, name)
        ? []
        : [find(line, `${name} has no line in ${reasonsPath}: say why it is here`)]),
    ];
  });
  const ofHomes = homes
    .map(({ name }) => name)
    .filter((name) => name !== 'node:' && !versions.has(name))
    .map((name) => find(1, `${name} is no dependency any more: delete its row in test/tidy/tables.ts`));
  return [...ofDependencies, ...ofHomes];
}

function dependenciesOf(manifest: string): Map<string, string> {
  const parsed = JSON.parse(manifest) as Record<string, Record<string, string> | undefined>;
  const groups = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'];
  return new Map(groups.flatMap((group) => Object.entries(parsed[group] ?? {})));
}

/** A row of a table, an item of a list or a heading that begins with the name. */
function hasLine(markdown: string, name: string): boolean {
  return markdown.split('\n').some((line) => {
    const first = /^\s*(?:\||[-*]|#+)\s*(.*)$/.exec(line)?.[1]?.replace(/^[[`*]+/, '');
    return first?.startsWith(name) === true && !/^[\w/.-]/.test(first.slice(name.length));
  });
}
