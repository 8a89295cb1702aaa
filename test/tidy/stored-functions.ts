import {
  checksumOf,
  parseFunction,
  type StoredFunction,
} from '../../src/adapters/database/stored-functions.ts';
import { type RecordedFunction, recordedFunctions } from './recorded-functions.ts';
import { type Finding, lineAt, type SourceFile, type Tree } from './tree.ts';

/**
 * Rule 12: processes of the version before call the newest stored functions, so a signature is only ever extended by
 * parameters with defaults at its end, and every change raises the revision. Fresh databases of tests cannot show
 * either mistake; the list in recorded-functions.ts does.
 */
const FOLDER = 'migrations/functions/';
const RECORD = 'test/tidy/recorded-functions.ts';
/** Released when functions were still replaced by migrations. */
const LAST_REPLACING_MIGRATION = 20;
const OWNER = /^-- Owner: (src\/domain\/[a-z/-]+)$/m;
const DEFINITION =
  /^create or replace function (\w+)\((.*?)\)\s+returns\s+(.*?)\s+language\s+\w+[^$]*\sas \$\$.*\$\$;\s*$/s;
const CREATED = /\bcreate\s+(or\s+replace\s+)?function\s+(\w+)/gi;
const DROPPED = /\bdrop\s+function\s+(?:if\s+exists\s+)?(\w+)/gi;

export function checkStoredFunctions(
  tree: Tree,
  recorded: readonly RecordedFunction[] = recordedFunctions,
): Finding[] {
  const files = tree.filter(({ path }) => path.startsWith(FOLDER));
  const gone = recorded
    .filter(({ name }) => !files.some(({ path }) => path === `${FOLDER}${name}.sql`))
    .map(({ name }) => ({
      path: RECORD,
      line: 1,
      problem: `${name} has no file any more: restore it, or drop the function in a migration and delete its row`,
    }));
  const changed = files.flatMap((file) =>
    problemsOf(file, tree, recorded).map((problem) => ({ path: file.path, line: 1, problem })),
  );
  return [...changed, ...gone, ...checkMigrationsOf(tree)];
}

function problemsOf(file: SourceFile, tree: Tree, recorded: readonly RecordedFunction[]): string[] {
  try {
    const parsed = parseFunction(file.path.slice(FOLDER.length), file.text);
    const found = recordOf(parsed);
    if (found === null)
      return ['must hold one "create or replace function" of its own name, and nothing else'];
    const before = recorded.find(({ name }) => name === found.name);
    return [...headerProblems(file.text, tree), ...changeProblems(before, found)];
  } catch (error) {
    return [(error as Error).message];
  }
}

function recordOf(parsed: StoredFunction): RecordedFunction | null {
  const [, name, parameters = '', returns = ''] = DEFINITION.exec(parsed.sql) ?? [];
  if (name !== parsed.name || parsed.sql.split('$$').length !== 3) return null;
  return {
    name,
    revision: parsed.revision,
    checksum: checksumOf(parsed).slice(0, 16),
    parameters: splitList(parameters),
    returns: oneLine(returns),
  };
}

function headerProblems(text: string, tree: Tree): string[] {
  const owner = OWNER.exec(text)?.[1];
  const isDescribed = /^-- (?!revision:|Owner:)\S.{15,}/m.test(
    text.slice(0, text.indexOf('create or replace')),
  );
  return [
    ...(isDescribed ? [] : ['must say in a comment at its top what it does']),
    ...(tree.some(({ path }) => path.startsWith(`${owner}/`))
      ? []
      : ['must name its capability at its top: "-- Owner: src/domain/name"']),
  ];
}

function changeProblems(before: RecordedFunction | undefined, found: RecordedFunction): string[] {
  const row = `record it in ${RECORD}: ${JSON.stringify(found)}`;
  if (before === undefined) return [row];
  const added = found.parameters.slice(before.parameters.length);
  const isExtended =
    before.parameters.every((parameter, at) => parameter === found.parameters[at]) &&
    added.every((parameter) => /\sdefault\s/i.test(parameter));
  if (!isExtended) return ['its signature may only be extended: new parameters at the end, with a default'];
  if (found.returns !== before.returns) return ['what it returns cannot change: processes that run read it'];
  if (found.revision < before.revision) return [`its revision must be ${before.revision} or higher`];
  if (found.revision > before.revision) return [row];
  if (found.checksum === before.checksum) return [];
  return [`was changed: raise the revision in its first line to ${before.revision + 1}`];
}

/** A migration may create a function that its triggers need; it never replaces one. */
function checkMigrationsOf(tree: Tree): Finding[] {
  const migrations = tree.filter(({ path }) => /^migrations\/\d{4}_\w+\.sql$/.test(path));
  const dropped = new Set(
    migrations.flatMap(({ text }) => [...text.matchAll(DROPPED)].map((match) => match[1])),
  );
  const known = new Set<string>();
  return migrations.flatMap(({ path, text }) =>
    [...text.matchAll(CREATED)].flatMap(({ 1: replaces, 2: name = '', index }): Finding[] => {
      const isReplaced = replaces !== undefined || known.has(name);
      known.add(name);
      const line = lineAt(text, index);
      if (isReplaced && Number(path.slice(11, 15)) > LAST_REPLACING_MIGRATION)
        return [{ path, line, problem: `replaces ${name}: change ${FOLDER}${name}.sql instead` }];
      if (dropped.has(name) || tree.some((file) => file.path === `${FOLDER}${name}.sql`)) return [];
      return [{ path, line, problem: `creates ${name}: define it in ${FOLDER}${name}.sql too` }];
    }),
  );
}

/** At commas outside of brackets: numeric(20, 2) is one type. */
function splitList(text: string): string[] {
  return text
    .split(/,(?![^(]*\))/)
    .map(oneLine)
    .filter((item) => item !== '');
}

function oneLine(text: string): string {
  return text
    .trim()
    .replace(/\s+/g, ' ')
    .replace(/(?<=\() | (?=\))/g, '');
}
