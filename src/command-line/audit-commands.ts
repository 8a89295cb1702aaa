import { parseArgs } from 'node:util';
import { creditsOfMicro, microOfCredits, publishLevel } from '../domain/credits/ledger/credit-account.ts';
import {
  CORRECTED_SOURCES,
  type CorrectedSource,
  correctSource,
} from '../domain/payments/cash/corrections.ts';
import { type Command, complainOfUsage, EXIT_FAILED, EXIT_OK } from './command.ts';

const CORRECT_USAGE =
  'KIND/ID [--credits=CREDITS] [--cash-minor=AMOUNT] [--reason TEXT] [--idempotency-key KEY]';
const LONGEST_REASON = 500;
const LONGEST_ID = 120;
const LONGEST_KEY = 60;

/** The remedy of differences for which there is no event: what was posted for a source is corrected by one more posting. */
export const correctCommand: Command = {
  name: 'correct',
  usage: 'KIND/ID [--credits=N] [--cash-minor=N]',
  summary: 'Corrects the credits or the cash of a purchase, invoice or refund by one more posting, once.',
  works: 'on-the-database',
  async run({ terminal, database, sharedState, clock }, words) {
    const wanted = readCorrection(words);
    if (wanted === null) {
      complainOfUsage(terminal, correctCommand, CORRECT_USAGE);
      return complainOfUsage(terminal, correctCommand, `KIND: ${CORRECTED_SOURCES.join(', ')}`);
    }
    const now = new Date(clock.now());
    const corrected = await database
      .transaction(async (transaction) => {
        const outcome = await correctSource(transaction, { ...wanted, now });
        // Credits and cash are corrected together or not at all.
        if (outcome.outcome === 'refused') throw new Refused(outcome.message);
        return outcome;
      })
      .catch((error: unknown) => {
        if (error instanceof Refused) return { outcome: 'refused', message: error.message } as const;
        throw error;
      });
    switch (corrected.outcome) {
      case 'no-such-source':
        terminal.complain(
          `there is no ${wanted.kind} ${wanted.id}: turnpike audit names what can be corrected`,
        );
        return EXIT_FAILED;
      case 'refused':
        terminal.complain(corrected.message);
        return EXIT_FAILED;
      case 'corrected':
      case 'done-before': {
        const { companyId, level } = corrected;
        if (level !== null) await publishLevel(sharedState, level);
        const holds = level === null ? '' : `, which now holds ${creditsOfMicro(level.balanceMicro)} credits`;
        const did = corrected.outcome === 'corrected' ? 'corrected' : 'was corrected before';
        terminal.print(`${wanted.kind} ${wanted.id} of company ${companyId} ${did}${holds}`);
        return EXIT_OK;
      }
    }
  },
};

class Refused extends Error {}

function readCorrection(words: readonly string[]) {
  const option = { type: 'string' } as const;
  try {
    const { values, positionals } = parseArgs({
      args: [...words],
      options: { credits: option, 'cash-minor': option, reason: option, 'idempotency-key': option },
      allowPositionals: true,
    });
    const [source = '', ...rest] = positionals;
    const at = source.indexOf('/');
    const [kind, id] = [source.slice(0, at), source.slice(at + 1)];
    if (rest.length > 0 || !isSource(kind) || id === '' || id.includes('/') || id.length > LONGEST_ID)
      return null;
    const creditsMicro = values.credits === undefined ? 0n : microOfCredits(values.credits);
    const cash = values['cash-minor'] ?? '0';
    if (creditsMicro === null || !/^-?\d{1,15}$/.test(cash)) return null;
    const cashMinor = BigInt(cash);
    if (creditsMicro === 0n && cashMinor === 0n) return null;
    const { reason = 'found by the audit' } = values;
    const key = values['idempotency-key'] ?? `${creditsMicro}:${cashMinor}`;
    if (reason.trim() === '' || reason.length > LONGEST_REASON || key === '' || key.length > LONGEST_KEY)
      return null;
    return { kind, id, creditsMicro, cashMinor, reason, key };
  } catch {
    // An option that there is not, or one without its value.
    return null;
  }
}

function isSource(kind: string): kind is CorrectedSource {
  return CORRECTED_SOURCES.some((one) => one === kind);
}
