import { addPlanRate, listAllPlanRates } from '../domain/catalog/plan-rates.ts';
import { creditsOfMicro } from '../domain/credits/ledger/credit-account.ts';
import { waitingEvents } from '../domain/payments/event-inbox.ts';
import { requeueEvent } from '../domain/payments/payment-jobs.ts';
import { listOtherLines } from '../domain/payments/plan-grants.ts';
import { type Command, complainOfUsage, EXIT_FAILED, EXIT_OK } from './command.ts';

const LINES_SHOWN = 200;
const EVENTS_AT_ONCE = 1_000;

export const planRatesCommand: Command = {
  name: 'plan-rates',
  usage: '',
  summary: 'What each provider price of a plan stands for, by currency: frozen when the price was created.',
  works: 'on-the-database',
  async run({ terminal, database }, words) {
    if (words.length > 0) return complainOfUsage(terminal, planRatesCommand);
    const rates = await listAllPlanRates(database);
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
  summary: 'Adds the rate of a plan in another currency; invoices that wait for it are then counted.',
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
  usage: '',
  summary: `Lines of paid invoices that belong to no plan and moved no credits, the newest ${LINES_SHOWN}.`,
  works: 'on-the-database',
  async run({ terminal, database }, words) {
    if (words.length > 0) return complainOfUsage(terminal, otherInvoiceLinesCommand);
    const lines = await listOtherLines(database, LINES_SHOWN);
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
