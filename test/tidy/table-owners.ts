import { scan } from './scan.ts';
import * as tables from './tables.ts';
import { type Finding, isCode, isTestCode, lineAt, type SourceFile, type Tree } from './tree.ts';

/**
 * Rule 13: every table has one owner, and only the owner's folder writes it. Others read it through functions of the
 * owner; `reconciliation` reads across by design, and whatever else has to has a row with its reason. A stored
 * function writes the tables of the capability that it names as its owner.
 *
 * It goes by the words of the SQL, so it does not see a computed name behind `from` or `join`. Behind a word that
 * writes, a computed name needs a row.
 */
const FUNCTIONS = 'migrations/functions/';
const READS_ACROSS = 'src/domain/reconciliation';
const RECORD = 'test/tidy/tables.ts';

const NAME = String.raw`"?[a-z_][\w.]*"?`;
const CREATED = new RegExp(
  String.raw`\bcreate\s+(?:unlogged\s+)?table\s+(?:if\s+not\s+exists\s+)?(${NAME})`,
  'gi',
);
const WRITTEN = new RegExp(
  String.raw`\b(?:insert\s+into|update|delete\s+from|truncate(?:\s+table)?|merge\s+into)\s+(?:only\s+)?(${NAME}|\$\{[^}]*\})`,
  'gi',
);
/** `from a, b as c` names two tables. */
const READ = new RegExp(
  String.raw`\b(?:from|join|using)\s+(?:only\s+|lateral\s+)?(${NAME}(?:(?:\s+(?:as\s+)?\w+)?\s*,\s*${NAME})*)`,
  'gi',
);

interface Access {
  readonly path: string;
  readonly line: number;
  readonly table: string;
  readonly access: 'read' | 'write';
}

export function checkTableOwners(
  tree: Tree,
  owners: readonly tables.TableOwner[] = tables.tableOwners,
  exceptions: readonly tables.TableException[] = tables.tableExceptions,
): Finding[] {
  const rows = owners.flatMap(({ owner, owns }) => owns.map((table) => ({ table, owner })));
  const ownerOf = new Map(rows.map(({ table, owner }) => [table, owner]));
  const used = new Set<tables.TableException>();
  const isExcepted = ({ path, table, access }: Access) => {
    const row = exceptions.find((one) => one.path === path && one.table === table && one.access === access);
    if (row !== undefined) used.add(row);
    return row !== undefined;
  };
  const foreign = tree
    .flatMap((file) => accessesOf(file, ownerOf))
    .filter((access) => !isExcepted(access))
    .map(({ path, line, table, access }) => ({ path, line, problem: problemOf(table, access, ownerOf) }));
  const stale = exceptions
    .filter((row) => !used.has(row))
    .map(
      ({ path, table, access }) => `the exception of ${path}, ${access} ${table}, is not needed: delete it`,
    );
  return [
    ...foreign,
    ...[...rowProblems(tree, rows), ...stale].map((problem) => ({ path: RECORD, line: 1, problem })),
  ];
}

/** What a file does to tables that are not its own. */
function accessesOf(file: SourceFile, ownerOf: ReadonlyMap<string, string>): Access[] {
  const { path } = file;
  const text = sqlOf(file);
  if (text === null) return [];
  const place = path.startsWith(FUNCTIONS) ? `${capabilityOf(file)}/` : path;
  const isOwn = (table: string) => place.startsWith(`${ownerOf.get(table)}/`);
  const isForeign = (table: string) => ownerOf.has(table) && !isOwn(table);
  const writes = [...text.matchAll(WRITTEN)].flatMap(({ 0: found, 1: name = '', index }): Access[] => {
    // The exception of a computed name is called by it: `{partition}`.
    const isComputed = name.startsWith('$');
    const table = isComputed ? name.slice(1) : tableNamed(name);
    if (!isComputed && !isForeign(table)) return [];
    return [{ path, line: lineAt(text, index + found.length), table, access: 'write' }];
  });
  if (path.startsWith(FUNCTIONS) || path.startsWith(`${READS_ACROSS}/`)) return writes;
  const written = new Set(writes.map(({ line, table }) => `${line} ${table}`));
  const reads = [...text.matchAll(READ)].flatMap(({ 0: found, 1: list = '', index }): Access[] =>
    list
      .split(',')
      .map((item) => tableNamed(item.trim().split(/\s/)[0] ?? ''))
      .filter(isForeign)
      .map((table) => ({ path, line: lineAt(text, index + found.length), table, access: 'read' as const }))
      // `delete from` is a write, whose last word looks like a read.
      .filter(({ line, table }) => !written.has(`${line} ${table}`)),
  );
  return [...writes, ...reads];
}

/** Null where no product SQL is: comments are blanked out, with every place kept. */
function sqlOf({ path, text }: SourceFile): string | null {
  if (path.startsWith(FUNCTIONS)) return text.replace(/--[^\n]*/g, (comment) => ' '.repeat(comment.length));
  return path.startsWith('src/') && isCode(path) && !isTestCode(path) ? scan(text).code : null;
}

function capabilityOf({ text }: SourceFile): string {
  return /^-- Owner: (\S+)$/m.exec(text)?.[1] ?? '';
}

/** Tables of another schema are owned as a whole, by the schema's name. */
function tableNamed(name: string): string {
  const [schema = '', table] = name.toLowerCase().replaceAll('"', '').split('.');
  return table === undefined || schema !== 'public' ? schema : table;
}

function problemOf(table: string, access: 'read' | 'write', ownerOf: ReadonlyMap<string, string>): string {
  if (table.startsWith('{')) return `writes a table whose name is computed, ${table}: write the name out`;
  const owner = ownerOf.get(table);
  return access === 'write'
    ? `writes ${table}, which belongs to ${owner}: call a function of the owner`
    : `reads ${table}, which belongs to ${owner}: call a function of the owner, or give a reason in ${RECORD}`;
}

/** Every table that a migration or the code creates has exactly one row, and every row is of such a table. */
function rowProblems(
  tree: Tree,
  rows: readonly { readonly table: string; readonly owner: string }[],
): string[] {
  const created = new Set(
    tree
      .filter(({ path }) => path.startsWith('migrations/') || (path.startsWith('src/') && !isTestCode(path)))
      .flatMap(({ path, text }) => [...(isCode(path) ? scan(text).code : text).matchAll(CREATED)])
      .map(({ 1: name = '' }) => tableNamed(name)),
  );
  const count = Map.groupBy(rows, ({ table }) => table);
  const isSchema = (table: string) =>
    tree.some(({ text }) => text.includes(`${table}.`)) && !created.has(table);
  return [
    ...[...created]
      .filter((table) => !count.has(table))
      .map((table) => `${table} needs a row in tableOwners`),
    ...[...count].filter(([, own]) => own.length > 1).map(([table]) => `${table} has more than one owner`),
    ...[...count.keys()]
      .filter((table) => !created.has(table) && !isSchema(table))
      .map((table) => `${table} is created nowhere: delete its row in tableOwners`),
    ...rows
      .filter(({ owner }) => !tree.some(({ path }) => path.startsWith(`${owner}/`)))
      .map(({ table, owner }) => `${owner}, the owner of ${table}, has no files`),
  ];
}
