import { listCompanies } from '../src/domain/accounts/company.ts';
import { listMembers } from '../src/domain/accounts/members.ts';
import { listSessions } from '../src/domain/accounts/sessions.ts';
import { listAuditEntries } from '../src/domain/audit/audit-log.ts';
import { listRefusedAddresses } from '../src/domain/calls/log/address-refusals.ts';
import { type CallLogFilter, listCalls } from '../src/domain/calls/log/call-log.ts';
import { countOperations, countOutcomes, listOperations } from '../src/domain/calls/usage/ai-operations.ts';
import { MARGIN_GROUPS, marginReport } from '../src/domain/calls/usage/margins.ts';
import { countFailures, latestFailures } from '../src/domain/calls/usage/usage-failures.ts';
import type { UsageRange } from '../src/domain/calls/usage/usage-range.ts';
import { type UsageDimension, usageReport } from '../src/domain/calls/usage/usage-report.ts';
import {
  isSubjectDimension,
  type SubjectDimension,
  subjectUsage,
} from '../src/domain/calls/usage/usage-subjects.ts';
import { listAlerts } from '../src/domain/credits/alerts/alert-settings.ts';
import { listBudgetsWithSpending } from '../src/domain/credits/budgets/budgets.ts';
import { readCompanyBillingStatuses } from '../src/domain/credits/holds/billing-status.ts';
import { listInvoices } from '../src/domain/credits/invoices/invoice.ts';
import { listTransactions } from '../src/domain/credits/ledger/ledger.ts';
import { statementLines } from '../src/domain/credits/ledger/statement.ts';
import { listKeys } from '../src/domain/keys/key-lifecycle.ts';
import { findLiveKeys } from '../src/domain/keys/key-lookup.ts';
import { findEntries } from '../src/domain/logs/log-queries.ts';
import { listPaymentEvents } from '../src/domain/payments/event-inbox.ts';
import { listPurchases } from '../src/domain/payments/purchase.ts';
import type { Database, Statements } from '../src/ports/database.ts';
import type { World } from './world-generator.ts';

export interface Question {
  readonly label: string;
  /** It is sent while it is read: what counts is when it begins. */
  readonly isStream?: boolean;
  ask(database: Database): Promise<unknown>;
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
  const statement = async (statements: Statements, accountId: string, mostLines = Infinity) => {
    const period = { accountId, from: new Date(nowMs - 60 * DAY_MS), to: new Date(nowMs - 30 * DAY_MS) };
    let lines = 0;
    for await (const _ of statementLines(statements, period)) {
      lines += 1;
      if (lines >= mostLines) break;
    }
    return lines;
  };
  return [
    {
      label: 'transactions of the largest company: a page',
      ask: (on) => listTransactions(on, hotCompanyId, { first: PAGE }),
    },
    { label: 'statement of a month', ask: (on) => statement(on, companyId) },
    {
      label: 'statement of a month of the largest company: its first thousand lines',
      ask: (on) => statement(on, hotCompanyId, 1_000),
    },
    {
      ...{ label: 'statement of a month of the largest company: all that is sent', isStream: true },
      ask: (on) => statement(on, hotCompanyId),
    },
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
    ...usageOf('the largest company', hotCompanyId, { year, month }),
    ...usageOf('a company', companyId, { year, month }),
    {
      label: 'usage: a year of the largest company from a moment on, by day',
      ask: (on) =>
        usageReport(on, {
          ...{ companyId: hotCompanyId, keyId: null, by: [[], ['day']] },
          ...{ from: new Date(nowMs - 360 * DAY_MS).toISOString(), to: new Date(nowMs).toISOString() },
        }),
    },
    ...MARGIN_GROUPS.flatMap((groupBy) => [
      {
        label: `margins: a month, by ${groupBy}`,
        ask: (on: Statements) => marginReport(on, { ...month, groupBy }),
      },
      {
        label: `margins: a year, by ${groupBy}`,
        ask: (on: Statements) => marginReport(on, { ...year, groupBy }),
      },
    ]),
    {
      label: 'budgets of the largest company, with one for every end user',
      ask: (on) => listBudgetsWithSpending(on, hotCompanyId, new Date(nowMs)),
    },
  ];
}

/** As the page of usage, its export and the REST interface have it. */
function usageOf(
  whose: string,
  companyId: string,
  { year, month }: { readonly year: UsageRange; readonly month: UsageRange },
): readonly Question[] {
  const groups: readonly (readonly (UsageDimension | SubjectDimension)[])[] = [
    ...([['day'], ['model'], ['key'], ['day', 'model'], ['key', 'model']] as const),
    ...([['project'], ['user'], ['tag'], ['day', 'project'], ['day', 'tag']] as const),
  ];
  return groups.flatMap((by) =>
    Object.entries({ month, year }).map(([name, range]): Question => {
      const subject = by.find(isSubjectDimension);
      const dimensions = by.filter((one) => !isSubjectDimension(one));
      return {
        label: `usage: a ${name} of ${whose}, by ${by.join(' and ')}`,
        ask: (on) =>
          subject === undefined
            ? usageReport(on, { companyId, keyId: null, ...range, by: [dimensions] })
            : subjectUsage(on, { companyId, keyId: null, ...range, subject, by: dimensions }),
      };
    }),
  );
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
    { label: 'operations: counts of a week', ask: (on) => countOperations(on, new Date(nowMs - 7 * DAY_MS)) },
    { label: 'operations: outcomes of an hour, for /metrics', ask: (on) => countOutcomes(on, hour.from) },
    {
      label: 'operations: a page',
      ask: (on) => listOperations(on, { ...hour, kind: null, outcome: null, limit: PAGE, after: null }),
    },
    {
      label: 'operations: refusals of a month',
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
  const { companyId, hotCompanyId, keyId } = world;
  const halfYearAgo = new Date(nowMs - 180 * DAY_MS);
  const deep = `${BigInt(halfYearAgo.getTime()) * 1000n}_ffffffff-ffff-4fff-8fff-ffffffffffff`;
  const week = { from: halfYearAgo, to: new Date(halfYearAgo.getTime() + 7 * DAY_MS) };
  const day = { from: new Date(nowMs - DAY_MS), to: new Date(nowMs) };
  const ask = (label: string, filter: CallLogFilter, after: string | null = null): Question => ({
    label: `requests: ${label}`,
    ask: (on) => listCalls(on, filter, { limit: PAGE, after }),
  });
  const filters = filtersOf(world, { week, day }, nowMs);
  return [
    ask('a company, the newest', { companyId }),
    ask('a company, a tag that none has', { companyId, tag: 'none' }),
    ask('a company, one of its keys', { companyId, keyId }),
    ...filters.map(([label, filter]) =>
      ask(`largest company, ${label}`, { companyId: hotCompanyId, ...filter }),
    ),
    ...filters.map(([label, filter]) => ask(`all companies, ${label}`, filter)),
    ...filters
      .filter(([, filter]) => filter.requestId === undefined && filter.from === undefined)
      .flatMap(([label, filter]) => [
        ask(`largest company, half a year down, ${label}`, { companyId: hotCompanyId, ...filter }, deep),
        ask(`all companies, half a year down, ${label}`, filter, deep),
      ]),
    {
      label: 'requests: a thousand rows of an export',
      ask: (on) => listCalls(on, { companyId: hotCompanyId }, { limit: 1_000, after: deep }),
    },
    {
      label: 'requests: addresses of a week that were refused',
      ask: (on) =>
        listRefusedAddresses(on, {
          ...week,
          from: new Date(nowMs - 7 * DAY_MS),
          to: new Date(nowMs),
          limit: 100,
        }),
    },
  ];
}

/** Each filter as people set it, dense or rare or matching nothing. */
function filtersOf(
  { hotKeyId, rareKeyId, requestId, clientRequestId, endUser }: World,
  { week, day }: Readonly<Record<'week' | 'day', { readonly from: Date; readonly to: Date }>>,
  nowMs: number,
): readonly (readonly [string, CallLogFilter])[] {
  return [
    ['the newest', {}],
    ['a week of half a year ago', week],
    [
      'a week in which there was none',
      { from: new Date(nowMs - 500 * DAY_MS), to: new Date(nowMs - 493 * DAY_MS) },
    ],
    ['of a key', { keyId: hotKeyId }],
    ['of a key with few calls', { keyId: rareKeyId }],
    ['of a model', { model: 'svc/chat-premium' }],
    ['of a model that no call has', { model: 'none' }],
    ['status 200', { status: 200 }],
    ['status 429', { status: 429 }],
    ['status 403, one in twenty thousand refusals', { status: 403 }],
    ['status 418, of which there is none', { status: 418 }],
    ['code INSUFFICIENT_CREDITS', { code: 'INSUFFICIENT_CREDITS' }],
    ['code LLM_MODEL_NOT_ALLOWED, a rare one', { code: 'LLM_MODEL_NOT_ALLOWED' }],
    ['a code that no call has', { code: 'none' }],
    ['of an end user', { endUser }],
    ['of an end user that no call names', { endUser: 'none' }],
    ['with a tag of half of them', { tag: 'env:prod' }],
    ['with a tag that twenty have', { tag: 'incident:4711' }],
    ['with a tag that none has', { tag: 'none' }],
    ['10 s or longer', { minDurationMs: 10_000 }],
    ['longer than any', { minDurationMs: 1_000_000 }],
    ['20 000 micro-credits or more', { minChargeMicro: 20_000n }],
    ['dearer than any', { minChargeMicro: 10n ** 12n }],
    ['by request id', { requestId }],
    ['by the request id of a client', { requestId: clientRequestId }],
    ['by a request id that no call has', { requestId: 'none' }],
    ['a week, a model, 10 s or longer', { ...week, model: 'svc/chat-premium', minDurationMs: 10_000 }],
    ['a day, status 502', { ...day, status: 502 }],
    ['a key, status 429', { keyId: hotKeyId, status: 429 }],
    ['a key, a rare tag', { keyId: hotKeyId, tag: 'incident:4711' }],
    ['an end user, a model, a tag', { endUser, model: 'svc/chat-cheap', tag: 'env:prod' }],
    ['a week, an end user that no call names', { ...week, endUser: 'none' }],
  ];
}

function daysBefore(nowMs: number): (ago: number) => string {
  return (ago) => new Date(nowMs - ago * DAY_MS).toISOString().slice(0, 10);
}
