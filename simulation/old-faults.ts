import type { CallJournal, JournalEntry, JournalFile } from '../src/ports/call-journal.ts';
import type { Database, DatabaseFailure, SqlValue } from '../src/ports/database.ts';
import type { Settlement, SharedState } from '../src/ports/shared-state.ts';
import type { ProcessPorts } from './gateway-process.ts';
import type { Deed } from './plan.ts';
import type { Simulation } from './simulation.ts';

/** A fault that an earlier version had, put back by what its processes reach the outside by. */
interface OldFault {
  readonly name: string;
  readonly what: string;
  /** The faults that bring it out, so that it takes minutes and not hours. */
  readonly only: readonly Deed['kind'][];
  readonly ports?: (ports: ProcessPorts) => ProcessPorts;
  readonly journal?: (journal: CallJournal, ports: ProcessPorts) => CallJournal;
}

const OLD_FAULTS: readonly OldFault[] = [
  {
    name: 'clock-step',
    what: 'a call during which the clock was set back has a duration below zero, and cannot be read from the journal',
    only: ['clock', 'database'],
    journal: (journal, { clock }) => withDurations(journal, (startedAtMs) => clock.now() - startedAtMs),
  },
  {
    name: 'error-class',
    what: 'any answer of the database but a commit counts as a refusal of the call',
    only: ['database'],
    ports: (ports) => ({ ...ports, database: withRefusals(ports.database) }),
  },
  {
    name: 'lost-version',
    what: 'a level of credits with a lower version never replaces one with a higher, also after a fail-over',
    only: ['database-fail-over'],
    ports: (ports) => ({
      ...ports,
      sharedState: withSettlements(ports.sharedState, (one) =>
        one.kind === 'level' && typeof one.replaces === 'number' ? [{ ...one, replaces: null }] : [one],
      ),
    }),
  },
  {
    name: 'idempotency-retention',
    what: 'a call that waits in a journal for longer than its idempotency key is stored is charged, although its repeat was',
    only: ['leap', 'provider-away'],
    ports: (ports) => ({
      ...ports,
      database: withCalls(ports.database, ({ idempotency: _, ...row }) => row),
    }),
  },
  {
    name: 'lost-holds',
    what: 'what running calls hold is not stored again after shared state has lost it',
    only: ['state-flush'],
    ports: (ports) => ({
      ...ports,
      sharedState: withSettlements(ports.sharedState, (one) => (one.kind === 'renew' ? [] : [one])),
    }),
  },
];

type Row = Readonly<Record<string, unknown>>;

function withQuery(
  database: Database,
  change: (text: string, values: readonly SqlValue[]) => readonly SqlValue[],
): Database {
  return { ...database, query: (text, values = []) => database.query(text, change(text, values)) };
}

/** Writes durations as they were written, and reads none below zero, as it was. */
function withDurations(journal: CallJournal, durationOf: (startedAtMs: number) => number): CallJournal {
  const written = (entry: JournalEntry): JournalEntry => {
    const record = JSON.parse(entry.record) as Row;
    return {
      ...entry,
      record: JSON.stringify({ ...record, durationMs: durationOf(Number(record.startedAtMs)) }),
    };
  };
  const read = (entry: JournalEntry): JournalEntry => {
    const record = JSON.parse(entry.record) as Row;
    return Number(record.durationMs) < 0 ? { ...entry, record: '{}' } : entry;
  };
  const reading = <File extends JournalFile>(file: File): File => ({
    ...file,
    oldest: async (limit: number) => (await file.oldest(limit)).map(read),
  });
  return {
    ...reading(journal),
    append: (entries) => journal.append(entries.map(written)),
    async takeOver() {
      const file = await journal.takeOver();
      return file === null ? null : reading(file);
    },
  };
}

/** Changes the rows of calls that are charged: the first value of every function that charges. */
function withCalls(database: Database, change: (row: Row) => Row): Database {
  return withQuery(database, (text, values) => {
    const [rows, ...rest] = values;
    // Those behind what they have in common have no idempotency keys.
    if (!text.includes('charge_calls') || typeof rows !== 'string' || rows.includes('\n')) return values;
    return [JSON.stringify((JSON.parse(rows) as Row[]).map(change)), ...rest];
  });
}

function withRefusals(database: Database): Database {
  return {
    ...database,
    query: (text, values) =>
      database.query<never>(text, values).catch((error: DatabaseFailure) => {
        if (!text.includes('charge_call') || error.sqlState === null) throw error;
        throw Object.assign(error, { reason: 'refused', sqlState: '22000' });
      }),
  };
}

function withSettlements(
  state: SharedState,
  change: (one: Settlement) => readonly Settlement[],
): SharedState {
  return {
    ...state,
    async settle(tag, settlements) {
      const changed = settlements.flatMap(change);
      if (changed.length > 0) await state.settle(tag, changed);
    },
  };
}

const MOST_SEEDS = 40;
const HOURS = 0.25;

/** Whether each of them is found; prints by which seed. */
export async function findOldFaults(simulation: Simulation, print: (line: string) => void): Promise<boolean> {
  let areFound = true;
  for (const { name, what, only, ports, journal } of OLD_FAULTS) {
    let hours = 0;
    let found: string | null = null;
    for (let seed = 1; seed <= MOST_SEEDS && found === null; seed += 1) {
      const played = await simulation.run(seed, HOURS, { only, ports, journal });
      hours += played.hours;
      if (played.violation !== null) {
        found = `seed ${seed}, ${hours.toFixed(1)} simulated hours: ${played.violation.message}`;
      }
    }
    print(`${name}: ${what}`);
    print(found === null ? `  not found in ${MOST_SEEDS} seeds` : `  found by ${found}`);
    areFound &&= found !== null;
  }
  return areFound;
}
