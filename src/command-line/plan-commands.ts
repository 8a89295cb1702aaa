import { appendAuditEntry } from '../domain/audit/audit-log.ts';
import { fromMinorUnits } from '../domain/catalog/currency.ts';
import { listPlans, type Plan } from '../domain/catalog/plan.ts';
import { addPlanRate, listAllPlanRates } from '../domain/catalog/plan-rates.ts';
import { creditsOfMicro, microOfCredits, publishLevel } from '../domain/credits/ledger/credit-account.ts';
import { isId } from '../domain/keys/api-key.ts';
import { assignPlan } from '../domain/payments/assign-plan.ts';
import { waitingEvents } from '../domain/payments/event-inbox.ts';
import { requeueEvent } from '../domain/payments/payment-jobs.ts';
import { listOtherLines } from '../domain/payments/plan-grants.ts';
import {
  type Command,
  complainOfCredits,
  complainOfNoCompany,
  complainOfUsage,
  EXIT_FAILED,
  EXIT_OK,
  printJson,
  readOptions,
  takeJson,
} from './command.ts';

const LINES_SHOWN = 200;
const EVENTS_AT_ONCE = 1_000;

export const plansCommand: Command = {
  name: 'plans',
  usage: '[--json]',
  summary: 'Lists the plans with their ids, including retired ones.',
  works: 'on-the-database',
  async run({ terminal, database }, given) {
    const { isJson, words } = takeJson(given);
    if (words.length > 0) return complainOfUsage(terminal, plansCommand);
    const plans = await listPlans(database, { activeOnly: false });
    if (isJson) return printJson(terminal, plans.map(shownPlan));
    for (const plan of plans) {
      const { id, billingMode, name, active } = plan;
      const cost = `${fromMinorUnits(plan.priceMinor, plan.currency)} ${plan.currency} a ${plan.interval.toLowerCase()}`;
      const credits = `${creditsOfMicro(plan.creditsMicro)} credits`;
      terminal.print(`${id} ${billingMode} ${cost}, ${credits}: ${name}${active ? '' : ' (retired)'}`);
    }
    if (plans.length === 0) terminal.print('no plans');
    return EXIT_OK;
  },
};

function shownPlan(plan: Plan) {
  return { ...plan, price: fromMinorUnits(plan.priceMinor, plan.currency) };
}

const ASSIGN_OPTION_OF: Readonly<Record<string, string>> = {
  creditLimit: '--line',
  dueDays: '--due-days',
  invoiceDay: '--invoice-day',
  planId: 'PLAN_ID',
};

export const assignPlanCommand: Command = {
  name: 'assign-plan',
  usage: 'COMPANY_ID PLAN_ID [--line CREDITS] [--due-days N] [--invoice-day N] [--json]',
  summary:
    'Assigns a POSTPAID plan to a company on the given terms. The company then pays by monthly invoice.',
  works: 'on-the-database',
  async run({ terminal, database, sharedState, clock, secrets }, given) {
    const { isJson, words } = takeJson(given);
    const options = readAssignment(words);
    if (options === null) return complainOfUsage(terminal, assignPlanCommand);
    if ('wrongCredits' in options) return complainOfCredits(terminal, '--line', options.wrongCredits);
    const { companyId, planId, ...terms } = options;
    const now = new Date(clock.now());
    const assigned = await database
      .transaction(async (transaction) => {
        const done = await assignPlan(transaction, { ...options, now });
        if (done.outcome !== 'assigned') throw new NotAssigned(done);
        const { creditLimitMicro, ...rest } = terms;
        const creditLimit = creditLimitMicro === null ? null : creditsOfMicro(creditLimitMicro);
        await appendAuditEntry(transaction, {
          ...{ happenedAt: now, companyId, actorId: null, actorEmail: null },
          ...{ action: 'company.plan-assigned', objectKind: 'company', objectId: companyId },
          details: { planId, plan: done.plan.name, creditLimit, ...rest },
          ...{ clientAddress: 'command line', requestId: secrets.newId() },
        });
        return done;
      })
      .catch((error: unknown) => {
        if (error instanceof NotAssigned) return error.outcome;
        throw error;
      });
    switch (assigned.outcome) {
      case 'no-such-plan':
        terminal.complain(`there is no plan ${planId}: turnpike plans lists them`);
        return EXIT_FAILED;
      case 'no-such-company':
        return complainOfNoCompany(terminal, companyId);
      case 'invalid':
        terminal.complain(`${ASSIGN_OPTION_OF[assigned.field] ?? assigned.field}: ${assigned.message}`);
        return EXIT_FAILED;
      case 'subscribed':
        terminal.complain(assigned.message);
        return EXIT_FAILED;
      case 'assigned': {
        await publishLevel(sharedState, assigned.level);
        const { lineMicro } = assigned.level;
        const shown = { companyId, planId, plan: assigned.plan.name, creditLimitMicro: lineMicro };
        if (isJson)
          return printJson(terminal, { ...shown, dueDays: terms.dueDays, invoiceDay: terms.invoiceDay });
        const line = lineMicro === null ? 'no end' : `a line of ${creditsOfMicro(lineMicro)} credits`;
        terminal.print(`${companyId} is on plan "${assigned.plan.name}" with ${line}`);
        return EXIT_OK;
      }
    }
  },
};

type RefusedAssignment = Exclude<Awaited<ReturnType<typeof assignPlan>>, { outcome: 'assigned' }>;

/** Thrown to roll back the transaction: the refusal may follow after the billing mode was written. */
class NotAssigned extends Error {
  readonly outcome: RefusedAssignment;

  constructor(outcome: RefusedAssignment) {
    super(outcome.outcome);
    this.outcome = outcome;
  }
}

/** Null if the arguments cannot be parsed; the domain validates the values. */
function readAssignment(words: readonly string[]) {
  const option = { type: 'string' } as const;
  const options = { line: option, 'due-days': option, 'invoice-day': option };
  const typed = readOptions(words, options, 2);
  if (typed === null) return null;
  const { values, positionals } = typed;
  const [companyId, planId] = positionals;
  if (companyId === undefined || planId === undefined) return null;
  if (!isId(companyId) || !isId(planId)) return null;
  const [dueDays, invoiceDay] = [values['due-days'], values['invoice-day']];
  if (!WHOLE.test(dueDays ?? '1') || !WHOLE.test(invoiceDay ?? '1')) return null;
  const creditLimitMicro = values.line === undefined ? null : microOfCredits(values.line);
  if (values.line !== undefined && creditLimitMicro === null) return { wrongCredits: values.line };
  return {
    ...{ companyId, planId, creditLimitMicro },
    dueDays: dueDays === undefined ? null : Number(dueDays),
    invoiceDay: Number(invoiceDay ?? '1'),
  };
}

const WHOLE = /^\d{1,4}$/;

export const planRatesCommand: Command = {
  name: 'plan-rates',
  usage: '[--json]',
  summary:
    'The price and credits behind each provider price of a plan, by currency, as they were when it was created.',
  works: 'on-the-database',
  async run({ terminal, database }, given) {
    const { isJson, words } = takeJson(given);
    if (words.length > 0) return complainOfUsage(terminal, planRatesCommand);
    const rates = await listAllPlanRates(database);
    if (isJson) return printJson(terminal, rates);
    for (const { providerPriceId, currency, price, creditsMicro, planName } of rates) {
      terminal.print(
        `${providerPriceId} ${price} ${currency} = ${creditsOfMicro(creditsMicro)} credits of plan "${planName}"`,
      );
    }
    if (rates.length === 0) terminal.print('no rates');
    return EXIT_OK;
  },
};

export const setPlanRateCommand: Command = {
  name: 'set-plan-rate',
  usage: 'PRICE_ID CURRENCY PRICE',
  summary: 'Adds the rate of a plan in another currency. Invoices that wait for the rate are then included.',
  works: 'on-the-database',
  async run({ terminal, database, jobQueue, clock }, [providerPriceId, currency, price, ...rest]) {
    if (providerPriceId === undefined || currency === undefined || price === undefined || rest.length > 0) {
      return complainOfUsage(terminal, setPlanRateCommand);
    }
    const added = await addPlanRate(database, { providerPriceId, currency, price });
    switch (added.outcome) {
      case 'invalid':
        terminal.complain(added.message);
        return EXIT_FAILED;
      case 'no-such-price':
        terminal.complain(`no plan has the price ${providerPriceId}: turnpike plan-rates lists them`);
        return EXIT_FAILED;
      case 'frozen':
        terminal.complain(
          `${providerPriceId} has a rate in ${currency} already, and a rate is never changed`,
        );
        return EXIT_FAILED;
      case 'added': {
        const waiting = await waitingEvents(database, [`price:${providerPriceId}`], EVENTS_AT_ONCE);
        const now = new Date(clock.now());
        for (const id of waiting) await requeueEvent({ database, jobQueue, now }, id);
        terminal.print(`added; ${waiting.length} waiting events will be tried again within a minute`);
        return EXIT_OK;
      }
    }
  },
};

export const otherInvoiceLinesCommand: Command = {
  name: 'other-invoice-lines',
  usage: '[--json]',
  summary: `Lines of paid invoices that belong to no plan and moved no credits, the newest ${LINES_SHOWN}.`,
  works: 'on-the-database',
  async run({ terminal, database }, given) {
    const { isJson, words } = takeJson(given);
    if (words.length > 0) return complainOfUsage(terminal, otherInvoiceLinesCommand);
    const lines = await listOtherLines(database, LINES_SHOWN);
    if (isJson) return printJson(terminal, lines);
    for (const {
      createdAt,
      companyId,
      providerInvoiceId,
      providerPriceId,
      amount,
      currency,
      description,
    } of lines) {
      const what = description === null ? '' : `: ${description}`;
      const price = providerPriceId === null ? '' : ` price ${providerPriceId}`;
      terminal.print(
        `${createdAt.toISOString()} company ${companyId} invoice ${providerInvoiceId}${price} ${amount} ${currency}${what}`,
      );
    }
    if (lines.length === 0) terminal.print('no such lines');
    return EXIT_OK;
  },
};
