import { fromMinorUnits } from '../../domain/catalog/currency.ts';
import { creditsOfMicro, microOfCredits, publishLevel } from '../../domain/credits/ledger/credit-account.ts';
import {
  CORRECTED_SOURCES,
  type CorrectedSource,
  correctSource,
} from '../../domain/payments/cash/corrections.ts';
import { lineOf } from '../../domain/reconciliation/difference.ts';
import { type AuditReport, auditRange } from '../../domain/reconciliation/provider/provider-audit.ts';
import {
  type Command,
  complainOfCredits,
  complainOfUsage,
  EXIT_FAILED,
  EXIT_OK,
  EXIT_USAGE,
  momentIn,
  printJson,
  readOptions,
  type Terminal,
  takeJson,
} from '../command.ts';

const PROVIDER_USAGE = '--provider [--from TIME --to TIME] [--json]';
const DAY_MS = 24 * 60 * 60_000;
/** Like the daily audit. */
const DAYS = 35;

type Context = Parameters<Extract<Command, { works: 'on-the-database' }>['run']>[0];

/** `turnpike audit --provider`: compares the payment provider's records with ours, in both directions. */
export async function auditProvider(context: Context, given: readonly string[]): Promise<number> {
  const { terminal, clock, payments, paymentProvider, secrets } = context;
  const { isJson, words } = takeJson(given);
  const options = readRange(words, clock.now());
  if (options === null) return complainOfUsage(terminal, { name: 'audit', usage: PROVIDER_USAGE });
  if (payments === undefined || paymentProvider === undefined) {
    terminal.complain(
      'This process has no payment provider: set PAYMENT_PROVIDER_KEY as the backend has it.',
    );
    return EXIT_FAILED;
  }
  const parts = { ...(await payments()), provider: await paymentProvider(), secrets };
  const run = await auditRange(parts, options);
  if (run.outcome === 'invalid') {
    terminal.complain(run.message);
    return EXIT_USAGE;
  }
  if (run.outcome === 'paused') {
    const again = `run it again with --from ${options.from.toISOString()} --to ${options.to.toISOString()} to continue`;
    terminal.complain(`the audit is paused: ${run.message}; ${again}`);
    return EXIT_FAILED;
  }
  const { report } = run;
  if (isJson) printJson(terminal, jsonOf(report));
  else printReport(terminal, report);
  return report.differences.length === 0 ? EXIT_OK : EXIT_FAILED;
}

function printReport(terminal: Terminal, report: AuditReport): void {
  const { differences, isCut, totals, from, to, objectsRead, foreignCharges } = report;
  for (const difference of differences) terminal.complain(`${difference.kind} ${lineOf(difference)}`);
  if (isCut) terminal.complain(`and more than these ${differences.length}`);
  for (const { currency, ...cash } of totals.cash) {
    const amount = (minor: bigint) => fromMinorUnits(minor, currency);
    terminal.print(
      `${currency}: ${amount(cash.receivedMinor)} received, ${amount(cash.refundedMinor)} refunded, ` +
        `${amount(cash.disputedMinor)} disputed; credits outstanding were paid with ${amount(cash.outstandingMinor)}`,
    );
  }
  if (foreignCharges > 0n)
    terminal.print(`${foreignCharges} charges are of customers that are no company of ours`);
  const range = `${from.toISOString()} to ${to.toISOString()}, ${objectsRead} objects of the provider`;
  if (differences.length === 0) terminal.print(`the books agree with the payment provider: ${range}`);
  else
    terminal.complain(
      `the books differ from the payment provider: ${differences.length} differences; ${range}`,
    );
}

function jsonOf({ totals, ...report }: AuditReport) {
  return {
    ...report,
    credits: totals.credits,
    cash: totals.cash.map(({ currency, ...cash }) => ({
      currency,
      ...Object.fromEntries(
        Object.entries(cash).map(([name, minor]) => [
          name.replace('Minor', ''),
          fromMinorUnits(minor, currency),
        ]),
      ),
    })),
  };
}

function readRange(words: readonly string[], nowMs: number) {
  const option = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const typed = readOptions(words, { provider: flag, from: option, to: option });
  if (typed === null) return null;
  const { values } = typed;
  const to = values.to === undefined ? new Date(nowMs) : momentIn(values.to);
  const end = values.to === undefined || values.to.includes('T') ? to : new Date(to.getTime() + DAY_MS - 1);
  const from = values.from === undefined ? new Date(end.getTime() - DAYS * DAY_MS) : momentIn(values.from);
  if (Number.isNaN(from.getTime()) || Number.isNaN(end.getTime())) return null;
  return { from, to: end };
}

const CORRECT_USAGE =
  'KIND/ID [--credits=CREDITS] [--cash-minor=AMOUNT] [--reason TEXT] [--idempotency-key KEY]';
const LONGEST_REASON = 500;
const LONGEST_ID = 120;
const LONGEST_KEY = 60;

/** Fixes differences for which there is no event: a further posting corrects what was posted for a source. */
export const correctCommand: Command = {
  name: 'correct',
  usage: 'KIND/ID [--credits=N] [--cash-minor=N] …',
  summary: 'Corrects the credits or the cash of a purchase, invoice or refund by one more posting, once.',
  works: 'on-the-database',
  async run({ terminal, database, sharedState, clock }, words) {
    const options = readCorrection(words);
    if (options !== null && 'wrongCredits' in options) {
      return complainOfCredits(terminal, '--credits', options.wrongCredits);
    }
    if (options === null) {
      complainOfUsage(terminal, correctCommand, CORRECT_USAGE);
      return complainOfUsage(terminal, correctCommand, `KIND: ${CORRECTED_SOURCES.join(', ')}`);
    }
    const now = new Date(clock.now());
    const corrected = await database
      .transaction(async (transaction) => {
        const outcome = await correctSource(transaction, { ...options, now });
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
          `there is no ${options.kind} ${options.id}: turnpike audit names what can be corrected`,
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
        terminal.print(`${options.kind} ${options.id} of company ${companyId} ${did}${holds}`);
        return EXIT_OK;
      }
    }
  },
};

class Refused extends Error {}

function readCorrection(words: readonly string[]) {
  const option = { type: 'string' } as const;
  const options = { credits: option, 'cash-minor': option, reason: option, 'idempotency-key': option };
  const typed = readOptions(words, options, 1);
  if (typed === null) return null;
  const { values, positionals } = typed;
  const [source = ''] = positionals;
  const at = source.indexOf('/');
  const [kind, id] = [source.slice(0, at), source.slice(at + 1)];
  if (!isSource(kind) || id === '' || id.includes('/') || id.length > LONGEST_ID) return null;
  const creditsMicro = values.credits === undefined ? 0n : microOfCredits(values.credits);
  const cash = values['cash-minor'] ?? '0';
  if (creditsMicro === null) return { wrongCredits: values.credits ?? '' };
  if (!/^-?\d{1,15}$/.test(cash)) return null;
  const cashMinor = BigInt(cash);
  if (creditsMicro === 0n && cashMinor === 0n) return null;
  const { reason = 'found by the audit' } = values;
  const key = values['idempotency-key'] ?? `${creditsMicro}:${cashMinor}`;
  if (reason.trim() === '' || reason.length > LONGEST_REASON || key.trim() === '' || key.length > LONGEST_KEY)
    return null;
  return { kind, id, creditsMicro, cashMinor, reason, key };
}

function isSource(kind: string): kind is CorrectedSource {
  return CORRECTED_SOURCES.some((one) => one === kind);
}
