import { useEffect } from 'react';
import { useLocation, useSearch } from 'wouter';
import { Act } from '../../parts/dialog.tsx';
import { saveFile } from '../../parts/files.ts';
import { List } from '../../parts/list.tsx';
import { Bones, Card, Empty, Figure, type Mood, Notice, Page, Problem, Tag } from '../../parts/page.tsx';
import { credits, Moment, money, roundedCredits, spoken } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import {
  type DataOf,
  graphql,
  type Query,
  type RowOf,
  type VariablesArgument,
} from '../../session/graphql.ts';
import { usePages, useQuery } from '../../session/use-query.ts';
import { lastingWords, Plans } from './plans.tsx';

const SHOP = graphql(`{
  creditBalance { credits held updatedAt }
  creditLots(first: 50) { id label credits left grantedAt expiresAt }
  creditPacks { id name credits price currency }
  creditPackTerms { creditPackId creditsExpireAfterDays }
  plans { id name credits price currency interval active purchase needsProviderPricing trialDays trialCredits
    creditsExpireAfterDays }
  company { postpaidTerms { dueDays invoiceDay plan { id name } } }
  subscription { status isActive cancelAtPeriodEnd currentPeriodEnd trialEnd plan { id name } }
}`);
const BUY = graphql(`mutation($id: ID!) { page: createCreditPackCheckout(creditPackId: $id) { url } }`);
const SUBSCRIBE = graphql(`mutation($id: ID!) { page: createSubscriptionCheckout(planId: $id) { url } }`);
const PORTAL = graphql(`mutation { page: createBillingPortalSession { url } }`);
const TRANSACTIONS = graphql(`query($after: ID) { creditTransactions(first: 10, after: $after) {
  nodes { id type credits balanceAfter reason createdAt expiresAt } pageInfo { hasNextPage endCursor } } }`);
const PURCHASES = graphql(`query($after: ID) { creditPackPurchases(first: 10, after: $after) {
  nodes { id amount currency credits status createdAt creditPack { name } } pageInfo { hasNextPage endCursor } } }`);
const INVOICES = graphql(`query($after: ID) { invoices(first: 10, after: $after) {
  nodes { id number kind status amount currency createdAt dueDate url } pageInfo { hasNextPage endCursor } } }`);
const STATEMENT = graphql(
  `query($from: DateTime!, $to: DateTime!) { creditStatement(from: $from, to: $to) }`,
);
const MOODS: Record<string, Mood> = { COMPLETED: 'good', PAID: 'good', OPEN: 'warn', PENDING: 'warn' };
const STATEMENT_MS = 90 * 86_400_000;
const LOOK_EVERY_MS = 4_000;

export type Shop = DataOf<typeof SHOP>;
type Invoice = RowOf<typeof INVOICES>;

export function Billing() {
  const shop = useQuery(SHOP, {}, LOOK_EVERY_MS);
  const balance = shop.data?.creditBalance;
  return (
    <Page title="Credits" says="What you hold, what you can buy, and every change of it.">
      <ComingBack />
      <Problem error={shop.error} retry={shop.reload} />
      <div className="columns">
        <Figure
          name="Balance"
          value={balance === undefined ? '…' : roundedCredits(balance.credits)}
          exact={balance === undefined ? undefined : credits(balance.credits)}
          says={
            balance === undefined ? (
              'credits'
            ) : (
              <>
                credits, changed <Moment at={balance.updatedAt} />
              </>
            )
          }
        />
        <Figure
          name="Held by calls"
          value={balance === undefined ? '…' : roundedCredits(balance.held)}
          exact={balance === undefined ? undefined : credits(balance.held)}
          says="credits"
        />
        <NextExpiry lots={shop.data?.creditLots ?? []} />
      </div>
      {shop.data === null ? <Bones /> : <Offers shop={shop.data} reload={shop.reload} />}
      {shop.data !== null && shop.data.creditLots.length > 0 && <Lots lots={shop.data.creditLots} />}
      <Transactions changedAt={balance?.updatedAt ?? ''} />
      <Purchases changedAt={balance?.updatedAt ?? ''} />
      <Invoices />
    </Page>
  );
}

type Lot = Shop['creditLots'][number];

/** Nothing where no credits expire. */
function NextExpiry({ lots }: { lots: readonly Lot[] }) {
  const [next] = lots;
  if (next === undefined) return null;
  return (
    <Figure
      name="Next to expire"
      value={roundedCredits(next.left)}
      exact={credits(next.left)}
      says={
        <>
          credits, <Moment at={next.expiresAt} />
        </>
      }
    />
  );
}

function Lots({ lots }: { lots: readonly Lot[] }) {
  return (
    <Card title="Credits that expire">
      <p className="quiet">What expires first is spent first. All other credits never expire.</p>
      <List
        label="Credits that expire"
        rows={lots}
        keyOf={({ id }) => id}
        empty=""
        columns={[
          { name: 'From', show: ({ label }) => label ?? 'A grant' },
          { name: 'Granted', show: ({ grantedAt }) => <Moment at={grantedAt} /> },
          { name: 'Expires', show: ({ expiresAt }) => <Moment at={expiresAt} /> },
          { name: 'Credits', isNumber: true, show: (one) => credits(one.credits) },
          { name: 'Left', isNumber: true, show: ({ left }) => credits(left) },
        ]}
      />
    </Card>
  );
}

/** The payment provider leads back here; the credits come with its event, a moment later. */
function ComingBack() {
  const search = new URLSearchParams(useSearch());
  const [, navigate] = useLocation();
  const how = search.get('checkout');
  if (how === null) return null;
  const close = (
    <button type="button" className="little" onClick={() => navigate('/billing', { replace: true })}>
      Close
    </button>
  );
  if (how === 'success') {
    return (
      <Notice mood="good">
        Thank you. The payment went through; the credits appear below by themselves. {close}
      </Notice>
    );
  }
  return <Notice mood="warn">Nothing was bought and nothing was charged. {close}</Notice>;
}

function usePaymentPage() {
  const { session } = useConsole();
  return async <Variables,>(
    opens: Query<{ page: { url: string } }, Variables>,
    ...variables: VariablesArgument<Variables>
  ) => {
    const { page } = await session.request(opens, ...variables);
    location.assign(page.url);
  };
}

function Offers({ shop, reload }: { shop: Shop; reload(): Promise<void> }) {
  const openPage = usePaymentPage();
  const days = new Map(shop.creditPackTerms.map((one) => [one.creditPackId, one.creditsExpireAfterDays]));
  return (
    <div className="halves">
      <Card title="Buy credits once">
        {shop.creditPacks.length === 0 && (
          <Empty title="No credit packs are available">Ask your provider.</Empty>
        )}
        {shop.creditPacks.map((pack) => (
          <div className="row spread" key={pack.id}>
            <div>
              <h3>{pack.name}</h3>
              <span className="quiet small">
                {credits(pack.credits)} credits{lastingWords(days.get(pack.id) ?? null)}
              </span>
            </div>
            <Act
              name={`Buy ${pack.name} for ${money(pack.price, pack.currency)}`}
              main
              work={() => openPage(BUY, { id: pack.id })}
            />
          </div>
        ))}
      </Card>
      <Card title="Plan" actions={<Act name="Billing portal" work={() => openPage(PORTAL)} />}>
        <Plans shop={shop} reload={reload} subscribe={(id) => openPage(SUBSCRIBE, { id })} />
      </Card>
    </div>
  );
}

/** Reloads when the balance has changed. */
function Transactions({ changedAt }: { changedAt: string }) {
  const { session } = useConsole();
  const pages = usePages(TRANSACTIONS);
  useReloadOn(changedAt, pages.reload);
  const save = async () => {
    const now = Date.now();
    const range = { from: new Date(now - STATEMENT_MS).toISOString(), to: new Date(now).toISOString() };
    const { creditStatement } = await session.request(STATEMENT, range);
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
          { name: 'Expires', show: ({ expiresAt }) => <Moment at={expiresAt} never="" /> },
          { name: 'Balance after', isNumber: true, show: ({ balanceAfter }) => credits(balanceAfter) },
        ]}
      />
    </Card>
  );
}

function Purchases({ changedAt }: { changedAt: string }) {
  const pages = usePages(PURCHASES);
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

function Invoices() {
  const pages = usePages(INVOICES);
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
