import type { CompanyBalance } from '../../../domain/credits/company-balance.ts';
import { readCompanyStandings, type StandingWord } from '../../../domain/credits/company-standing.ts';
import { creditsOrNull } from '../credits.ts';
import { defineConnection } from '../paging.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

export const companyObject: Declaration = (builder) => {
  builder.enumType('BillingMode', {
    values: {
      PREPAID: { description: 'Calls are paid from credits bought before.' },
      POSTPAID: { description: 'Calls are invoiced monthly.' },
    },
  });
  builder.enumType('CompanyStanding', {
    values: {
      GOOD: { description: 'Its calls are answered.' },
      OUT_OF_CREDITS: { description: 'Its calls are refused with 402 until credits come.' },
      OVERDUE: {
        description: 'An invoice is past its due date: its calls are refused with 403 until it is paid.',
      },
    },
  });
  builder.objectType('Company', {
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      billingMode: t.expose('billingMode', { type: 'BillingMode' }),
      creditLimit: t.float({
        nullable: true,
        description: 'How far below zero a POSTPAID company may go, in credits; null is no limit.',
        resolve: (company) => creditsOrNull(company.creditLimitMicro),
      }),
      balance: t.loadable({ type: 'CreditBalance', load: loadBalances, resolve: ({ id }) => id }),
      standing: t.loadable({ type: 'CompanyStanding', load: loadStandings, resolve: ({ id }) => id }),
      providerCustomerId: t.exposeString('providerCustomerId', { nullable: true }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
    }),
  });
  defineConnection(builder, 'Company');
};

/** One statement for all companies of an answer. */
async function loadBalances(ids: string[], context: RequestContext): Promise<(CompanyBalance | Error)[]> {
  return (await standingsOf(ids, context)).map((found) => (found instanceof Error ? found : found.balance));
}

async function loadStandings(ids: string[], context: RequestContext): Promise<(StandingWord | Error)[]> {
  return (await standingsOf(ids, context)).map((found) => (found instanceof Error ? found : found.word));
}

async function standingsOf(ids: string[], { parts: { database, clock } }: RequestContext) {
  const found = await readCompanyStandings(database, ids, clock.now());
  return ids.map((id) => found.get(id) ?? new Error(`the company ${id} has no credit account`));
}
