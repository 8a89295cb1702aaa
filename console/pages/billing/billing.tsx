import { useLocation, useSearch } from 'wouter';
import { Act } from '../../parts/dialog.tsx';
import { List } from '../../parts/list.tsx';
import { Bones, Card, Empty, Figure, InOrder, Notice, Page, Problem } from '../../parts/page.tsx';
import { credits, Moment, money, roundedCredits } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import { type DataOf, graphql, type Query, type VariablesArgument } from '../../session/graphql.ts';
import { useQuery } from '../../session/use-query.ts';
import { Invoices, Purchases, Transactions } from './credit-lists.tsx';
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
const LOOK_EVERY_MS = 4_000;

type Shop = DataOf<typeof SHOP>;

export function Billing() {
  const shop = useQuery(SHOP, {}, LOOK_EVERY_MS);
  const balance = shop.data?.creditBalance;
  return (
    <Page title="Credits" says="Your balance, what you can buy, and every transaction.">
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
      <InOrder>
        {shop.data === null ? (
          shop.error === null && <Bones />
        ) : (
          <Offers shop={shop.data} reload={shop.reload} />
        )}
        {shop.data !== null && shop.data.creditLots.length > 0 && <Lots lots={shop.data.creditLots} />}
        <Transactions changedAt={balance?.updatedAt ?? ''} />
        <Purchases changedAt={balance?.updatedAt ?? ''} />
        <Invoices />
      </InOrder>
    </Page>
  );
}

type Lot = Shop['creditLots'][number];

/** Nothing if no credits expire. */
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

/** The payment provider redirects here. The credits arrive with its event, shortly afterwards. */
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
        Thank you. Your payment succeeded. The credits are added to your balance within seconds. {close}
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
          <Empty title="No credit packs are available">Contact your operator.</Empty>
        )}
        {shop.creditPacks.map((pack) => (
          <div className="row spread offer" key={pack.id}>
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
