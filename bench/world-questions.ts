import { listCompanies } from '../src/domain/accounts/company.ts';
import { listMembers } from '../src/domain/accounts/members.ts';
import { listSessions } from '../src/domain/accounts/sessions.ts';
import { listAuditEntries } from '../src/domain/audit/audit-log.ts';
import { type CallLogFilter, listCalls } from '../src/domain/calls/log/call-log.ts';
import { countOperations, listOperations } from '../src/domain/calls/usage/ai-operations.ts';
import { countFailures, latestFailures } from '../src/domain/calls/usage/usage-failures.ts';
import { usageReport } from '../src/domain/calls/usage/usage-report.ts';
import { listAlerts } from '../src/domain/credits/alerts/alert-settings.ts';
import { readCompanyBillingStatuses } from '../src/domain/credits/holds/billing-status.ts';
import { listInvoices } from '../src/domain/credits/invoices/invoice.ts';
import { listTransactions } from '../src/domain/credits/ledger/ledger.ts';
import { statementLines } from '../src/domain/credits/ledger/statement.ts';
import { listKeys } from '../src/domain/keys/key-lifecycle.ts';
import { findLiveKeys } from '../src/domain/keys/key-lookup.ts';
import { findEntries } from '../src/domain/logs/log-queries.ts';
import { listPaymentEvents } from '../src/domain/payments/event-inbox.ts';
import { listPurchases } from '../src/domain/payments/purchase.ts';
import type { Statements } from '../src/ports/database.ts';
import type { World } from './world-generator.ts';

export interface Question {
  readonly label: string;
  ask(statements: Statements): Promise<unknown>;
}

const DAY_MS = 24 * 60 * 60 * 1000;
const PAGE = 50;

/** What the surfaces ask of tables that grow, by the very functions that ask it. */
export function questionsTo(world: World): readonly Question[] {
  const nowMs = Date.now();
  return [
    ...pagesOf(world, nowMs),
    ...reportsOf(world, nowMs),
    ...callsOf(world, nowMs),
    ...requestsOf(world, nowMs),
  ];
}

function pagesOf({ companyId, hotCompanyId, userId }: World, nowMs: number): readonly Question[] {
  return [
    { label: 'companies: a page', ask: (on) => listCompanies(on, { limit: PAGE, after: companyId }) },
    {
      label: 'companies: how 50 of them stand',
      ask: async (on) => {
        const page = await listCompanies(on, { limit: PAGE, after: companyId });
        return await readCompanyBillingStatuses(
          on,
          page.map(({ id }) => id),
          nowMs,
        );
      },
    },
    { label: 'members of a company', ask: (on) => listMembers(on, companyId, { limit: PAGE, after: null }) },
    { label: 'sessions of a person', ask: (on) => listSessions(on, userId, new Date(nowMs)) },
    { label: 'keys: a key by its hash', ask: (on) => findLiveKeys(on, ['00'.repeat(32)], nowMs) },
    { label: 'keys of a company', ask: (on) => listKeys(on, companyId, { limit: PAGE }) },
    {
      label: 'keys of the largest company: a page',
      ask: (on) => listKeys(on, hotCompanyId, { limit: PAGE }),
    },
    {
      label: 'audit log of a company',
      ask: (on) => listAuditEntries(on, { companyId }, { limit: PAGE, after: null }),
    },
    {
      label: 'audit log of all',
      ask: (on) => listAuditEntries(on, { companyId: null }, { limit: PAGE, after: null }),
    },
    { label: 'payment events: a page', ask: (on) => listPaymentEvents(on, { limit: PAGE }) },
    {
      label: 'payment events that failed',
      ask: (on) => listPaymentEvents(on, { limit: PAGE, status: 'FAILED' }),
    },
    {
      label: 'payment events that wait, of which there are none',
      ask: (on) => listPaymentEvents(on, { limit: PAGE, status: 'DEFERRED' }),
    },
    { label: 'invoices of a company', ask: (on) => listInvoices(on, companyId, { limit: PAGE }) },
    { label: 'purchases of a company', ask: (on) => listPurchases(on, companyId, { limit: PAGE }) },
    { label: 'alerts of a company', ask: (on) => listAlerts(on, companyId) },
    { label: 'log: errors, a page', ask: (on) => findEntries(on, { level: 'error', limit: PAGE }) },
    { label: 'log: a request', ask: (on) => findEntries(on, { requestId: 'req_4711', limit: PAGE }) },
  ];
}

function reportsOf({ companyId, hotCompanyId, keyId }: World, nowMs: number): readonly Question[] {
  const day = daysBefore(nowMs);
  const year = { from: day(364), to: day(0) };
  const month = { from: day(30), to: day(0) };
  const statement = async (statements: Statements, accountId: string) => {
    const period = { accountId, from: new Date(nowMs - 60 * DAY_MS), to: new Date(nowMs - 30 * DAY_MS) };
    let lines = 0;
    for await (const _ of statementLines(statements, period)) lines += 1;
    return lines;
  };
  return [
    {
      label: 'transactions of the largest company: a page',
      ask: (on) => listTransactions(on, hotCompanyId, { first: PAGE }),
    },
    { label: 'statement of a month', ask: (on) => statement(on, companyId) },
    { label: 'statement of a month of the largest company', ask: (on) => statement(on, hotCompanyId) },
    {
      label: 'usage: a month of a key, by day',
      ask: (on) => usageReport(on, { companyId, keyId, ...month, by: [['day']] }),
    },
    {
      label: 'usage: a year of a company, by model and by day',
      ask: (on) => usageReport(on, { companyId, keyId: null, ...year, by: [[], ['model'], ['day']] }),
    },
    {
      label: 'usage: a year of the largest company, by model and by day',
      ask: (on) =>
        usageReport(on, { companyId: hotCompanyId, keyId: null, ...year, by: [[], ['model'], ['day']] }),
    },
    {
      label: 'usage: a month of the largest company, by key',
      ask: (on) => usageReport(on, { companyId: hotCompanyId, keyId: null, ...month, by: [['key']] }),
    },
  ];
}

function callsOf({ companyId, hotCompanyId }: World, nowMs: number): readonly Question[] {
  const day = daysBefore(nowMs);
  const month = { from: day(30), to: day(0) };
  const hour = { from: new Date(nowMs - DAY_MS / 24), to: new Date(nowMs) };
  return [
    {
      label: 'failures: a month of a company',
      ask: (on) => countFailures(on, { companyId, ...month, by: ['model'] }),
    },
    {
      label: 'failures: the latest of the largest company',
      ask: (on) => latestFailures(on, { companyId: hotCompanyId, ...month }),
    },
    {
      label: 'failures: a month of the largest company',
      ask: (on) => countFailures(on, { companyId: hotCompanyId, ...month, by: ['model'] }),
    },
    { label: 'operations: counts of an hour', ask: (on) => countOperations(on, hour.from) },
    { label: 'operations: counts of a day', ask: (on) => countOperations(on, new Date(nowMs - DAY_MS)) },
    {
      label: 'operations: a page',
      ask: (on) => listOperations(on, { ...hour, kind: null, outcome: null, limit: PAGE, after: null }),
    },
    {
      label: 'operations: refusals of a month, of which there are none',
      ask: (on) =>
        listOperations(on, {
          ...{ from: new Date(nowMs - 30 * DAY_MS), to: new Date(nowMs), kind: null },
          ...{ outcome: 'REFUSED', limit: PAGE, after: null },
        }),
    },
  ];
}

/** Pages of the log, dense and sparse; those that find nothing look at as many calls as a page may. */
function requestsOf(world: World, nowMs: number): readonly Question[] {
  const { companyId, hotCompanyId, keyId, requestId, endUser } = world;
  const halfYearAgo = new Date(nowMs - 180 * DAY_MS);
  const cursor = `${BigInt(halfYearAgo.getTime()) * 1000n}_ffffffff-ffff-4fff-8fff-ffffffffffff`;
  const page = (label: string, filter: CallLogFilter, after: string | null = null): Question => ({
    label: `requests: ${label}`,
    ask: (on) => listCalls(on, filter, { limit: PAGE, after }),
  });
  return [
    page('the newest of a company', { companyId }),
    page('the newest of the largest company', { companyId: hotCompanyId }),
    page('the largest company, a page of half a year ago', { companyId: hotCompanyId }, cursor),
    page('of all companies', {}),
    page('of all companies, a week of half a year ago', {
      ...{ from: halfYearAgo, to: new Date(halfYearAgo.getTime() + 7 * DAY_MS) },
    }),
    page('of a key', { keyId, companyId }),
    page('failed ones of the largest company', { companyId: hotCompanyId, status: 502 }),
    page('a code that no call has', { companyId: hotCompanyId, code: 'none' }),
    page('of an end user of the largest company', { companyId: hotCompanyId, endUser }),
    page('with a tag', { companyId: hotCompanyId, tag: 'env:prod' }),
    page('a tag that no call has, largest company', { companyId: hotCompanyId, tag: 'none' }),
    page('a tag that no call has, all companies', { tag: 'none' }),
    page('slower than any, largest company', { companyId: hotCompanyId, minDurationMs: 1_000_000 }),
    page('by request id, of the largest company', { companyId: hotCompanyId, requestId }),
    page('by request id, of all', { requestId }),
    page('by a client’s request id that no call has', { companyId: hotCompanyId, requestId: 'none' }),
    {
      label: 'requests: a thousand rows of an export',
      ask: (on) => listCalls(on, { companyId: hotCompanyId }, { limit: 1_000, after: cursor }),
    },
  ];
}

function daysBefore(nowMs: number): (ago: number) => string {
  return (ago) => new Date(nowMs - ago * DAY_MS).toISOString().slice(0, 10);
}
