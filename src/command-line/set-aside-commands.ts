import {
  dropSetAside,
  listSetAside,
  type RecordChanges,
  type Repaired,
  repairSetAside,
  type SetAsideCall,
} from '../domain/calls/settlement/set-aside-calls.ts';
import { creditsOfMicro, publishLevel } from '../domain/credits/ledger/credit-account.ts';
import {
  type Command,
  complainOfUsage,
  EXIT_FAILED,
  EXIT_OK,
  printJson,
  readOptions,
  takeJson,
} from './command.ts';

const MOST_SHOWN = 1_000;
const LONGEST_REASON = 500;

export const setAsideCallsCommand: Command = {
  name: 'set-aside-calls',
  usage: '[--json]',
  summary: 'Finished calls that could not be charged from a journal, each with the reason.',
  works: 'on-the-database',
  async run({ terminal, database }, given) {
    const { isJson, words } = takeJson(given);
    if (words.length > 0) return complainOfUsage(terminal, setAsideCallsCommand);
    const calls = await listSetAside(database, MOST_SHOWN);
    if (isJson) return printJson(terminal, calls.map(shownCall));
    for (const call of calls) terminal.print(lineOf(call));
    terminal.print(
      calls.length === 0
        ? 'no call is set aside'
        : `calls set aside: ${calls.length}; turnpike repair-calls charges or drops them`,
    );
    return EXIT_OK;
  },
};

const SHOWN_FIELDS = ['companyId', 'alias', 'outcome', 'tokens'] as const;

function shownCall({ fields, ...call }: SetAsideCall) {
  return { ...call, ...Object.fromEntries(SHOWN_FIELDS.map((name) => [name, fields?.[name] ?? null])) };
}

/** Shows ids, the outcome and amounts; the alias is the only free text of the record that is shown. */
function lineOf({ id, reason, setAsideAt, tries, fields }: SetAsideCall): string {
  const shown = (name: string) => JSON.stringify(fields?.[name] ?? null);
  const call = SHOWN_FIELDS.map((name) => `${name} ${shown(name)}`).join(', ');
  return `${id} ${setAsideAt.toISOString()} ${call}; tried ${tries} times: ${reason}`;
}

const REPAIR_USAGE = 'ID …|--all [--set FIELD=JSON …] | ID … --drop REASON';

/**
 * Can be run again after a failure: each call is charged only once, by its id. `--set` is for a record with a wrong
 * field, for example --set 'tokens={"promptTokens":10,"cachedTokens":0,"completionTokens":5}'.
 */
export const repairCallsCommand: Command = {
  name: 'repair-calls',
  usage: 'ID …',
  summary: 'Charges or drops calls that were set aside. Without arguments it lists its options.',
  works: 'on-the-database',
  async run({ terminal, database, sharedState }, words) {
    const options = readRepair(words);
    if (options === null) return complainOfUsage(terminal, repairCallsCommand, REPAIR_USAGE);
    const ids = options.all ? (await listSetAside(database, MOST_SHOWN)).map(({ id }) => id) : options.ids;
    let failed = 0;
    for (const id of ids) {
      if (options.drop !== null) {
        const isDropped = await dropSetAside(database, id, options.drop);
        if (isDropped) terminal.print(`${id} dropped: it is never charged`);
        else terminal.complain(NOT_FOUND(id));
        failed += isDropped ? 0 : 1;
        continue;
      }
      const repaired = await repairSetAside(database, id, options.changes);
      if (repaired.outcome === 'charged') {
        terminal.print(chargedLine(id, repaired));
        if (repaired.level !== null) await publishLevel(sharedState, repaired.level);
      } else {
        failed += 1;
        terminal.complain(
          repaired.outcome === 'not-found' ? NOT_FOUND(id) : `${id} is still refused: ${repaired.reason}`,
        );
      }
    }
    if (ids.length === 0) terminal.print('no call is set aside');
    return failed === 0 ? EXIT_OK : EXIT_FAILED;
  },
};

const NOT_FOUND = (id: string) => `${id} is not set aside: turnpike set-aside-calls lists those that are`;

function chargedLine(id: string, { level }: Extract<Repaired, { outcome: 'charged' }>): string {
  if (level === null) return `${id} recorded: nothing was left to charge`;
  return `${id} charged: ${level.accountId} now holds ${creditsOfMicro(level.balanceMicro)} credits`;
}

interface Repair {
  readonly ids: readonly string[];
  readonly all: boolean;
  readonly changes: RecordChanges;
  readonly drop: string | null;
}

function readRepair(words: readonly string[]): Repair | null {
  const options = {
    all: { type: 'boolean' },
    set: { type: 'string', multiple: true },
    drop: { type: 'string' },
  } as const;
  const typed = readOptions(words, options, Number.POSITIVE_INFINITY);
  if (typed === null) return null;
  const { values, positionals: ids } = typed;
  const { all = false, set = [], drop = null } = values;
  if (all === ids.length > 0) return null;
  if (drop !== null && (all || set.length > 0 || drop.trim() === '' || drop.length > LONGEST_REASON))
    return null;
  try {
    return { ids, all, drop, changes: Object.fromEntries(set.map(readChange)) };
  } catch {
    // A change is not FIELD=JSON.
    return null;
  }
}

function readChange(text: string): [string, unknown] {
  const at = text.indexOf('=');
  if (at < 1) throw new Error('FIELD=JSON is required');
  return [text.slice(0, at), JSON.parse(text.slice(at + 1))];
}
