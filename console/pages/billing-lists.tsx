import { useEffect } from 'react';
import { Act } from '../parts/dialog.tsx';
import { List } from '../parts/list.tsx';
import { Card, type Mood, Tag } from '../parts/page.tsx';
import { saveFile } from '../parts/save-file.ts';
import { credits, Moment, money, spoken } from '../parts/words.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql } from '../session/graphql.ts';
import { usePages } from '../session/use-asking.ts';

interface Transaction {
  readonly id: string;
  readonly type: string;
  readonly credits: number;
  readonly balanceAfter: number;
  readonly reason: string | null;
  readonly createdAt: string;
}

interface Purchase {
  readonly id: string;
  readonly amount: number;
  readonly currency: string;
  readonly credits: number;
  readonly status: 'PENDING' | 'COMPLETED' | 'CANCELED';
  readonly createdAt: string;
  readonly creditPack: { readonly name: string };
}

interface Invoice {
  readonly id: string;
  readonly number: string | null;
  readonly kind: string;
  readonly status: string;
  readonly amount: number;
  readonly currency: string;
  readonly createdAt: string;
  readonly dueDate: string | null;
  readonly url: string | null;
}

const TRANSACTIONS = graphql(`query($after: ID) { creditTransactions(first: 10, after: $after) {
  nodes { id type credits balanceAfter reason createdAt } pageInfo { hasNextPage endCursor } } }`);
const PURCHASES = graphql(`query($after: ID) { creditPackPurchases(first: 10, after: $after) {
  nodes { id amount currency credits status createdAt creditPack { name } } pageInfo { hasNextPage endCursor } } }`);
const INVOICES = graphql(`query($after: ID) { invoices(first: 10, after: $after) {
  nodes { id number kind status amount currency createdAt dueDate url } pageInfo { hasNextPage endCursor } } }`);
const STATEMENT = graphql(
  `query($from: DateTime!, $to: DateTime!) { creditStatement(from: $from, to: $to) }`,
);
const MOODS: Record<string, Mood> = { COMPLETED: 'good', PAID: 'good', OPEN: 'warn', PENDING: 'warn' };
const STATEMENT_MS = 90 * 86_400_000;

/** Looks again when the balance has changed. */
export function Transactions({ changedAt }: { changedAt: string }) {
  const { session } = useConsole();
  const pages = usePages<Transaction>(TRANSACTIONS, 'creditTransactions');
  useReloadOn(changedAt, pages.reload);
  const save = async () => {
    const now = Date.now();
    const range = { from: new Date(now - STATEMENT_MS).toISOString(), to: new Date(now).toISOString() };
    const { creditStatement } = await session.ask<{ creditStatement: string }>(STATEMENT, range);
    saveFile('credits.csv', 'text/csv', creditStatement);
  };
  return (
    <Card title="Transactions" actions={<Act name="Statement of 90 days as CSV" work={save} />}>
      <List
        label="Transactions"
        rows={pages.nodes}
        error={pages.error}
        retry={pages.reload}
        more={pages}
        keyOf={({ id }) => id}
        empty={<p>Buy a pack above, and it appears here.</p>}
        columns={[
          { name: 'When', show: ({ createdAt }) => <Moment at={createdAt} /> },
          { name: 'What', show: ({ type }) => spoken(type) },
          { name: 'Reason', show: ({ reason }) => reason ?? '' },
          {
            name: 'Credits',
            isNumber: true,
            show: (one) => `${one.credits > 0 ? '+' : ''}${credits(one.credits)}`,
          },
          { name: 'Balance after', isNumber: true, show: ({ balanceAfter }) => credits(balanceAfter) },
        ]}
      />
    </Card>
  );
}

export function Purchases({ changedAt }: { changedAt: string }) {
  const pages = usePages<Purchase>(PURCHASES, 'creditPackPurchases');
  useReloadOn(changedAt, pages.reload);
  return (
    <Card title="Purchases">
      <List
        label="Purchases"
        rows={pages.nodes}
        error={pages.error}
        retry={pages.reload}
        more={pages}
        keyOf={({ id }) => id}
        empty={<p>What you buy, or begin to, is listed here.</p>}
        columns={[
          { name: 'When', show: ({ createdAt }) => <Moment at={createdAt} /> },
          { name: 'Pack', show: ({ creditPack }) => creditPack.name },
          {
            name: 'Status',
            show: ({ status }) => <Tag mood={MOODS[status] ?? 'plain'}>{spoken(status)}</Tag>,
          },
          { name: 'Credits', isNumber: true, show: (one) => credits(one.credits) },
          { name: 'Amount', isNumber: true, show: ({ amount, currency }) => money(amount, currency) },
        ]}
      />
    </Card>
  );
}

export function Invoices() {
  const pages = usePages<Invoice>(INVOICES, 'invoices');
  return (
    <Card title="Invoices">
      <List
        label="Invoices"
        rows={pages.nodes}
        error={pages.error}
        retry={pages.reload}
        more={pages}
        keyOf={({ id }) => id}
        empty={<p>Invoices for packs, plans and usage are listed here.</p>}
        columns={[
          { name: 'When', show: ({ createdAt }) => <Moment at={createdAt} /> },
          { name: 'Invoice', show: (one) => <InvoiceName {...one} /> },
          { name: 'For', show: ({ kind }) => spoken(kind) },
          {
            name: 'Status',
            show: ({ status }) => <Tag mood={MOODS[status] ?? 'plain'}>{spoken(status)}</Tag>,
          },
          { name: 'Due', show: ({ dueDate }) => <Moment at={dueDate} never="—" /> },
          { name: 'Amount', isNumber: true, show: ({ amount, currency }) => money(amount, currency) },
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
