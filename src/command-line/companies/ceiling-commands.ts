import {
  CEILING_NAMES,
  type CeilingName,
  type Ceilings,
  findCeilings,
  setCeilings,
} from '../../domain/accounts/ceilings.ts';
import { findCompany } from '../../domain/accounts/company.ts';
import { appendAuditEntry } from '../../domain/audit/audit-log.ts';
import { isId } from '../../domain/keys/api-key.ts';
import {
  type Command,
  complainOfNoCompany,
  complainOfUsage,
  EXIT_FAILED,
  EXIT_OK,
  printJson,
  readOptions,
  type Terminal,
  takeJson,
} from '../command.ts';

export const ceilingsCommand: Command = {
  name: 'ceilings',
  usage: 'COMPANY_ID [--json]',
  summary: 'Limits of a company that its admins cannot raise.',
  works: 'on-the-database',
  async run({ terminal, database }, given) {
    const { isJson, words } = takeJson(given);
    const [companyId, ...rest] = words;
    if (companyId === undefined || rest.length > 0 || !isId(companyId)) {
      return complainOfUsage(terminal, ceilingsCommand);
    }
    if ((await findCompany(database, companyId)) === null) return complainOfNoCompany(terminal, companyId);
    const ceilings = await findCeilings(database, companyId);
    if (isJson) return printJson(terminal, ceilings);
    printCeilings(terminal, ceilings);
    return EXIT_OK;
  },
};

const OPTIONS: ReadonlyMap<string, CeilingName> = new Map(
  CEILING_NAMES.map((name) => [name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`), name]),
);
const SET_USAGE = `COMPANY_ID ${[...OPTIONS.keys()].map((option) => `[--${option} N|none]`).join(' ')}`;

export const setCeilingsCommand: Command = {
  name: 'set-ceilings',
  usage: 'COMPANY_ID --api-keys 5 …',
  summary: 'Sets or removes (none) what a company may use at most. Without arguments it lists its options.',
  works: 'on-the-database',
  async run({ terminal, database, clock, secrets }, words) {
    const options = readCeilings(words);
    if (options === null) return complainOfUsage(terminal, setCeilingsCommand, SET_USAGE);
    const { companyId, changes } = options;
    const now = new Date(clock.now());
    const set = await database.transaction(async (transaction) => {
      const done = await setCeilings(transaction, companyId, changes, now);
      if (done.outcome !== 'set') return done;
      const changed = CEILING_NAMES.filter((name) => done.before[name] !== done.ceilings[name]);
      if (changed.length === 0) return done;
      await appendAuditEntry(transaction, {
        ...{ happenedAt: now, companyId, actorId: null, actorEmail: null },
        ...{ action: 'company.ceilings-set', objectKind: 'company', objectId: companyId },
        details: Object.fromEntries(changed.map((name) => [name, done.ceilings[name]])),
        ...{ clientAddress: 'command line', requestId: secrets.newId() },
      });
      return done;
    });
    switch (set.outcome) {
      case 'no-such-company':
        return complainOfNoCompany(terminal, companyId);
      case 'invalid':
        terminal.complain(`${set.name}: ${set.message}`);
        return EXIT_FAILED;
      case 'set':
        printCeilings(terminal, set.ceilings);
        return EXIT_OK;
    }
  },
};

function readCeilings(words: readonly string[]) {
  const options = Object.fromEntries([...OPTIONS.keys()].map((name) => [name, { type: 'string' } as const]));
  const typed = readOptions(words, options, 1);
  if (typed === null) return null;
  const { values, positionals } = typed;
  const [companyId] = positionals;
  const given = Object.entries(values);
  if (companyId === undefined || !isId(companyId) || given.length === 0) return null;
  const changes: Partial<Record<CeilingName, number | null>> = {};
  for (const [option, value] of given) {
    const name = OPTIONS.get(option);
    if (name === undefined || typeof value !== 'string' || !/^(none|\d{1,10})$/.test(value)) return null;
    changes[name] = value === 'none' ? null : Number(value);
  }
  return { companyId, changes };
}

function printCeilings(terminal: Terminal, ceilings: Ceilings): void {
  for (const name of CEILING_NAMES) terminal.print(`${name}: ${ceilings[name] ?? 'none'}`);
}
