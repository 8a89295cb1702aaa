import { useEffect } from 'react';
import { Link } from 'wouter';
import { PeriodFields, useFilters } from '../../operations/filters.tsx';
import { Act } from '../../parts/dialog.tsx';
import { saveFile } from '../../parts/files.ts';
import { Choice, Field } from '../../parts/form.tsx';
import { List, Nil } from '../../parts/list.tsx';
import { Card, type Mood, Tag } from '../../parts/page.tsx';
import { Credits, credits, Day, Moment, money, spoken } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import { type EnumOf, graphql, type RowOf } from '../../session/graphql.ts';
import { usePages } from '../../session/use-query.ts';

const TRANSACTIONS =
  graphql(`query($after: ID, $types: [CreditTransactionType!], $search: String, $from: DateTime, $to: DateTime) {
  creditTransactions(first: 10, after: $after, types: $types, search: $search, from: $from, to: $to) {
    nodes { id type source credits balanceAfter reason createdAt expiresAt } pageInfo { hasNextPage endCursor } } }`);
const PURCHASES = graphql(`query($after: ID) { creditPackPurchases(first: 10, after: $after) {
  nodes { id amount currency credits status createdAt creditPack { name } paid { refunded } } pageInfo { hasNextPage endCursor } } }`);
const INVOICES = graphql(`query($after: ID, $search: String, $status: InvoiceStatus) {
  invoices(first: 10, after: $after, search: $search, status: $status) {
    nodes { id number kind status amount currency createdAt dueDate url paid { refunded } } pageInfo { hasNextPage endCursor } } }`);
const STATEMENT = graphql(
  `query($from: DateTime!, $to: DateTime!) { creditStatement(from: $from, to: $to) }`,
);
const MOODS: Record<string, Mood> = { COMPLETED: 'good', PAID: 'good', OPEN: 'warn', PENDING: 'warn' };
const STATEMENT_MS = 90 * 86_400_000;

type TransactionType = EnumOf<'CreditTransactionType'>;
type Invoice = RowOf<typeof INVOICES>;

const TYPES: readonly TransactionType[] = [
  ...(['PACK_PURCHASE', 'SUBSCRIPTION_GRANT', 'INVOICE_PAYMENT', 'REFUND', 'ADJUSTMENT', 'EXPIRY'] as const),
  'USAGE',
];
const NOT_USAGE = 'not-usage';
const INVOICE_STATUSES: readonly EnumOf<'InvoiceStatus'>[] = [
  'OPEN',
  'PAID',
  'DRAFT',
  'VOID',
  'UNCOLLECTIBLE',
];

/** Reloads when the balance has changed. */
export function Transactions({ changedAt }: { changedAt: string }) {
  const { session } = useConsole();
  const filters = useFilters();
  const { filter, setFilter, typed, oneOf, period } = filters;
  const type = oneOf('type', TYPES);
  const types =
    filter('type') === NOT_USAGE
      ? TYPES.filter((one) => one !== 'USAGE')
      : type === undefined
        ? null
        : [type];
  const isFiltered = ['type', 'reason', 'from', 'to'].some((name) => filter(name) !== '');
  const pages = usePages(TRANSACTIONS, { types, search: filter('reason'), ...period() });
  useReloadOn(changedAt, pages.reload);
  const save = async () => {
    const now = Date.now();
    const range = { from: new Date(now - STATEMENT_MS).toISOString(), to: new Date(now).toISOString() };
    const { creditStatement } = await session.request(STATEMENT, range);
    saveFile('credits.csv', 'text/csv', creditStatement);
  };
  return (
    <Card title="Transactions" actions={<Act name="Download statement (90 days)" work={save} />}>
      <div className="columns">
        <Choice
          label="Kind"
          value={type ?? filter('type')}
          onChange={(event) => setFilter('type', event.target.value)}
        >
          <option value="">All</option>
          <option value={NOT_USAGE}>All but usage</option>
          {TYPES.map((one) => (
            <option key={one} value={one}>
              {spoken(one)}
            </option>
          ))}
        </Choice>
        <Field label="Reason contains" {...typed('reason')} />
        <PeriodFields {...filters} />
      </div>
      <List
        label="Transactions"
        rows={pages.nodes}
        error={pages.error}
        retry={pages.reload}
        more={pages}
        keyOf={({ id }) => id}
        nothing={isFiltered ? 'No such transaction' : 'No transactions yet'}
        empty={
          <p>
            {isFiltered
              ? 'Choose another kind, other words or another time.'
              : 'Buy a pack above, and it appears here.'}
          </p>
        }
        columns={[
          { name: 'When', show: ({ createdAt }) => <Moment at={createdAt} /> },
          { name: 'What', show: (one) => <Kind {...one} /> },
          { name: 'Reason', show: ({ reason }) => reason ?? '' },
          { name: 'Credits', isNumber: true, show: (one) => <Credits of={one.credits} signed /> },
          {
            name: 'Expires',
            show: ({ expiresAt }) => (expiresAt === null ? <Nil text="" /> : <Moment at={expiresAt} />),
          },
          {
            name: 'Balance after',
            isNumber: true,
            show: ({ balanceAfter }) => <Credits of={balanceAfter} />,
          },
        ]}
      />
    </Card>
  );
}

/** Usage leads to the request that it was charged for. */
function Kind({ type, source }: Pick<RowOf<typeof TRANSACTIONS>, 'type' | 'source'>) {
  const callId = /^call:([0-9a-f-]{36})$/.exec(source)?.[1];
  if (callId === undefined) return spoken(type);
  return (
    <Link href={`/requests?open=${callId}`} aria-label={`${spoken(type)}: request ${callId}`}>
      {spoken(type)}
    </Link>
  );
}

export function Purchases({ changedAt }: { changedAt: string }) {
  const pages = usePages(PURCHASES);
  useReloadOn(changedAt, pages.reload);
  return (
    <Card title="Purchases">
      <List
        label="Purchases"
        nothing="No purchases yet"
        rows={pages.nodes}
        error={pages.error}
        retry={pages.reload}
        more={pages}
        keyOf={({ id }) => id}
        empty={<p>Buy a pack above. It is listed here with its price.</p>}
        columns={[
          { name: 'Date', show: ({ createdAt }) => <Day at={createdAt} /> },
          { name: 'Pack', show: ({ creditPack }) => creditPack.name },
          {
            name: 'Status',
            show: ({ status }) => <Tag mood={MOODS[status] ?? 'plain'}>{spoken(status)}</Tag>,
          },
          { name: 'Credits', isNumber: true, show: (one) => credits(one.credits) },
          { name: 'Amount', isNumber: true, show: ({ amount, currency }) => money(amount, currency) },
          {
            name: 'Refunded',
            isNumber: true,
            show: ({ paid, currency }) => refunded(paid.refunded, currency),
          },
        ]}
      />
    </Card>
  );
}

function refunded(amount: number, currency: string) {
  return amount === 0 ? <Nil text="" /> : money(amount, currency);
}

export function Invoices() {
  const { filter, setFilter, typed, oneOf } = useFilters();
  const wanted = oneOf('invoices', INVOICE_STATUSES);
  const isFiltered = wanted !== undefined || filter('number') !== '';
  const pages = usePages(INVOICES, {
    search: filter('number'),
    ...(wanted === undefined ? {} : { status: wanted }),
  });
  return (
    <Card title="Invoices">
      <div className="columns">
        <Choice
          label="Status of invoices"
          value={wanted ?? ''}
          onChange={(event) => setFilter('invoices', event.target.value)}
        >
          <option value="">All</option>
          {INVOICE_STATUSES.map((one) => (
            <option key={one} value={one}>
              {spoken(one)}
            </option>
          ))}
        </Choice>
        <Field label="Number" {...typed('number')} />
      </div>
      <List
        label="Invoices"
        rows={pages.nodes}
        error={pages.error}
        retry={pages.reload}
        more={pages}
        keyOf={({ id }) => id}
        nothing={isFiltered ? 'No such invoice' : 'No invoices yet'}
        empty={
          <p>
            {isFiltered
              ? 'Choose another status or another number.'
              : 'You get one for each pack that you buy and for each period of a plan.'}
          </p>
        }
        columns={[
          { name: 'Date', show: ({ createdAt }) => <Day at={createdAt} /> },
          { name: 'Invoice', show: (one) => <InvoiceName {...one} /> },
          { name: 'For', show: ({ kind }) => spoken(kind) },
          {
            name: 'Status',
            show: ({ status }) => <Tag mood={MOODS[status] ?? 'plain'}>{spoken(status)}</Tag>,
          },
          { name: 'Due', show: ({ dueDate }) => <Day at={dueDate} /> },
          { name: 'Amount', isNumber: true, show: ({ amount, currency }) => money(amount, currency) },
          {
            name: 'Refunded',
            isNumber: true,
            show: ({ paid, currency }) => refunded(paid.refunded, currency),
          },
        ]}
      />
    </Card>
  );
}

function InvoiceName({ number, url }: Invoice) {
  const name = number ?? 'without a number yet';
  if (url === null || !/^https?:/.test(url)) return name;
  return (
    <a href={url} rel="noreferrer">
      {name}
    </a>
  );
}

function useReloadOn(changedAt: string, reload: () => Promise<void>): void {
  useEffect(() => {
    if (changedAt !== '') void reload();
  }, [changedAt, reload]);
}
