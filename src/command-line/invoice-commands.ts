import { findCompany } from '../domain/accounts/company.ts';
import { fromMinorUnits } from '../domain/catalog/currency.ts';
import { billingMonth, monthNamed } from '../domain/credits/billing-month.ts';
import { overdueSince } from '../domain/credits/holds/billing-status.ts';
import {
  type Invoice,
  listInvoices,
  MOST_INVOICES,
  type SettledInvoice,
  settleInvoiceByHand,
  voidInvoice,
} from '../domain/credits/invoices/invoice.ts';
import { MONTHLY_INVOICES_QUEUE } from '../domain/credits/invoices/monthly-invoices.ts';
import { creditsOfMicro, microOfCredits, publishLevel } from '../domain/credits/ledger/credit-account.ts';
import { isId } from '../domain/keys/api-key.ts';
import { setBilling } from '../domain/payments/assign-plan.ts';
import { settleByHand } from '../domain/payments/postpaid-invoices.ts';
import type { Transaction } from '../ports/database.ts';
import {
  type Command,
  complainOfCredits,
  complainOfNoCompany,
  complainOfUsage,
  EXIT_FAILED,
  EXIT_OK,
  EXIT_USAGE,
  type OpenedSystem,
  printJson,
  readOptions,
  type Terminal,
  takeJson,
} from './command.ts';

export const invoicesCommand: Command = {
  name: 'invoices',
  usage: 'COMPANY_ID [AFTER_ID] [--json]',
  summary: `A company's invoices, the newest first, ${MOST_INVOICES} at a time, and whether they block it.`,
  works: 'on-the-database',
  async run({ terminal, database, clock }, given) {
    const { isJson, words } = takeJson(given);
    const [companyId, after, ...rest] = words;
    if (
      companyId === undefined ||
      rest.length > 0 ||
      !isId(companyId) ||
      (after !== undefined && !isId(after))
    ) {
      return complainOfUsage(terminal, invoicesCommand);
    }
    if ((await findCompany(database, companyId)) === null) return complainOfNoCompany(terminal, companyId);
    const invoices = await listInvoices(database, companyId, after === undefined ? {} : { after });
    if (isJson) return printJson(terminal, invoices.map(shownInvoice));
    for (const invoice of invoices) terminal.print(lineAbout(invoice));
    if (invoices.length === 0) terminal.print('no invoices');
    if (invoices.length === MOST_INVOICES) {
      terminal.print(`more: turnpike invoices ${companyId} ${invoices.at(-1)?.id}`);
    }
    const since = await overdueSince(database, companyId);
    if (since !== null && since.getTime() <= clock.now()) {
      terminal.print(
        `its calls are blocked since ${since.toISOString()}: turnpike mark-invoice-paid INVOICE_ID`,
      );
    }
    return EXIT_OK;
  },
};

/** Done by the workers, which have the price of a credit: a shell without their settings would use the default price. */
export const invoiceMonthCommand: Command = {
  name: 'invoice-month',
  usage: '[--month YYYY-MM]',
  summary: 'Invoices all completed months now, or those up to the given one.',
  works: 'on-the-database',
  async run({ terminal, jobQueue, clock }, words) {
    const named = optionIn(words, 'month');
    const until = named === undefined ? undefined : monthNamed(named ?? '');
    if (named === null || until === null) return complainOfUsage(terminal, invoiceMonthCommand);
    if (until !== undefined && until.end > billingMonth(new Date(clock.now())).start) {
      terminal.complain(`${named} is not over yet`);
      return EXIT_FAILED;
    }
    const { name } = MONTHLY_INVOICES_QUEUE;
    const id = await jobQueue.enqueue(name, named === undefined ? {} : { until: named }, {
      dedupeKey: `until ${named ?? 'now'}`,
    });
    terminal.print(id === null ? 'that is under way already' : `the workers have it: job ${id}`);
    terminal.print(
      `turnpike queue ${name} shows whether it is done; turnpike invoices COMPANY_ID what it made`,
    );
    return EXIT_OK;
  },
};

export const markInvoicePaidCommand: Command = {
  name: 'mark-invoice-paid',
  usage: 'INVOICE_ID',
  summary:
    'Records that an invoice was paid outside of the payment provider: settles its usage and unblocks the company, once.',
  works: 'on-the-database',
  async run(context, [invoiceId, ...rest]) {
    const { terminal, clock } = context;
    if (invoiceId === undefined || rest.length > 0) return complainOfUsage(terminal, markInvoicePaidCommand);
    return await settleAndSay(context, invoiceId, (transaction) =>
      settleInvoiceByHand(transaction, { invoiceId, paidAt: new Date(clock.now()) }),
    );
  },
};

export const voidInvoiceCommand: Command = {
  name: 'void-invoice',
  usage: 'INVOICE_ID REASON',
  summary: 'Stops collecting an invoice and writes off its usage.',
  works: 'on-the-database',
  async run(context, [invoiceId, reason, ...rest]) {
    if (invoiceId === undefined || reason === undefined || reason.trim() === '' || rest.length > 0) {
      return complainOfUsage(context.terminal, voidInvoiceCommand);
    }
    return await settleAndSay(context, invoiceId, (transaction) =>
      voidInvoice(transaction, { invoiceId, reason }),
    );
  },
};

export const setBillingCommand: Command = {
  name: 'set-billing',
  usage: 'COMPANY_ID PREPAID|POSTPAID [--line CREDITS]',
  summary:
    'Changes how a company pays. The credit line is how far a POSTPAID company may go below zero; without it there is no limit.',
  works: 'on-the-database',
  async run({ terminal, database, sharedState }, [companyId = '', mode, ...words]) {
    const line = optionIn(words, 'line');
    const lineMicro = line === undefined ? undefined : microOfCredits(line ?? '');
    if ((mode !== 'PREPAID' && mode !== 'POSTPAID') || line === null || !isId(companyId)) {
      return complainOfUsage(terminal, setBillingCommand);
    }
    if (lineMicro === null) return complainOfCredits(terminal, '--line', line ?? '');
    if (mode === 'PREPAID' && line !== undefined) {
      terminal.complain('--line: a PREPAID company has no credit line. Leave it out. Nothing was changed');
      return EXIT_USAGE;
    }
    const changed = await database.transaction((transaction) =>
      setBilling(transaction, companyId, mode, lineMicro ?? null),
    );
    if (changed.outcome === 'no-such-company') {
      return complainOfNoCompany(terminal, companyId);
    }
    if (changed.outcome === 'wrong-limit') {
      terminal.complain(`--line: ${changed.problem}`);
      return EXIT_FAILED;
    }
    if (changed.outcome === 'subscribed') {
      terminal.complain(changed.message);
      return EXIT_FAILED;
    }
    await publishLevel(sharedState, changed.level);
    const end =
      changed.level.lineMicro === null ? 'no end' : `a line of ${creditsOfMicro(changed.level.lineMicro)}`;
    terminal.print(`${companyId} is ${mode}${mode === 'POSTPAID' ? ` with ${end}` : ''}`);
    return EXIT_OK;
  },
};

async function settleAndSay(
  { terminal, database, jobQueue, sharedState }: OpenedSystem & { readonly terminal: Terminal },
  invoiceId: string,
  settle: (transaction: Transaction) => Promise<SettledInvoice>,
): Promise<number> {
  const settled = isId(invoiceId)
    ? await settleByHand({ database, jobQueue }, invoiceId, settle)
    : ({ outcome: 'no-such-invoice' } as const);
  switch (settled.outcome) {
    case 'no-such-invoice':
      terminal.complain(`there is no invoice ${invoiceId}: turnpike invoices COMPANY_ID lists them`);
      return EXIT_FAILED;
    case 'ended-otherwise':
      terminal.complain(`${invoiceId} is ${settled.invoice.status} and stays so`);
      return EXIT_FAILED;
    case 'settled':
    case 'already-settled':
      await publishLevel(sharedState, settled.level);
      terminal.print(lineAbout(settled.invoice));
      terminal.print(`the company's balance is ${creditsOfMicro(settled.level.balanceMicro)} credits`);
      if (settled.invoice.providerInvoiceId !== null) {
        const how = settled.invoice.status === 'PAID' ? 'paid out of band' : 'void';
        terminal.print(
          `the workers mark ${settled.invoice.providerInvoiceId} as ${how} at the payment provider`,
        );
      }
      return EXIT_OK;
  }
}

function lineAbout(invoice: Invoice): string {
  const { periodStart, periodEnd, dueAt, paidAt, usageMicro } = invoice;
  const facts = [
    periodStart === null || periodEnd === null ? null : `${day(periodStart)} to before ${day(periodEnd)}`,
    usageMicro === null ? null : `${creditsOfMicro(usageMicro)} credits`,
    dueAt === null ? null : `due ${dueAt.toISOString()}`,
    paidAt === null ? null : `paid ${paidAt.toISOString()}`,
    invoice.number === null ? null : `number ${invoice.number}`,
    invoice.providerInvoiceId,
  ];
  const money = `${fromMinorUnits(invoice.amountMinor, invoice.currency)} ${invoice.currency}`;
  const rest = facts.filter((fact) => fact !== null).join('; ');
  return `${invoice.id} ${invoice.kind} ${invoice.status} ${money} (${rest})`;
}

function shownInvoice({ firstVersion: _first, lastVersion: _last, ...invoice }: Invoice) {
  return { ...invoice, amount: fromMinorUnits(invoice.amountMinor, invoice.currency) };
}

function day(date: Date): string {
  return date.toISOString().slice(0, 10);
}

/** Undefined if the option is missing, null if the arguments are invalid. */
function optionIn(words: readonly string[], name: string): string | undefined | null {
  const typed = readOptions(words, { [name]: { type: 'string' } });
  return typed === null ? null : typed.values[name];
}
