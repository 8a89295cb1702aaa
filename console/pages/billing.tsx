import { useLocation, useSearch } from 'wouter';
import { Act } from '../parts/dialog.tsx';
import { Bones, Card, Empty, Figure, Notice, Page, Problem } from '../parts/page.tsx';
import { credits, Moment, money, spoken } from '../parts/words.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql } from '../session/graphql.ts';
import { useQuery } from '../session/use-asking.ts';
import { Invoices, Purchases, Transactions } from './billing-lists.tsx';

interface Sold {
  readonly id: string;
  readonly name: string;
  readonly credits: number;
  readonly price: number;
  readonly currency: string;
}

interface Shop {
  readonly creditBalance: { readonly credits: number; readonly held: number; readonly updatedAt: string };
  readonly creditPacks: readonly Sold[];
  readonly plans: readonly (Sold & {
    interval: string;
    active: boolean;
    billingMode: string;
    needsProviderPricing: boolean;
  })[];
  readonly subscription: {
    readonly status: string;
    readonly isActive: boolean;
    readonly cancelAtPeriodEnd: boolean;
    readonly currentPeriodEnd: string | null;
    readonly plan: { readonly name: string };
  } | null;
}

const SHOP = graphql(`{
  creditBalance { credits held updatedAt }
  creditPacks { id name credits price currency }
  plans { id name credits price currency interval active billingMode needsProviderPricing }
  subscription { status isActive cancelAtPeriodEnd currentPeriodEnd plan { name } }
}`);
const BUY = graphql(`mutation($id: ID!) { page: createCreditPackCheckout(creditPackId: $id) { url } }`);
const SUBSCRIBE = graphql(`mutation($id: ID!) { page: createSubscriptionCheckout(planId: $id) { url } }`);
const PORTAL = graphql(`mutation { page: createBillingPortalSession { url } }`);
const LOOK_EVERY_MS = 4_000;

export function Billing() {
  const shop = useQuery<Shop>(SHOP, {}, LOOK_EVERY_MS);
  const balance = shop.data?.creditBalance;
  return (
    <Page title="Credits" says="What you hold, what you can buy, and every change of it.">
      <ComingBack />
      <Problem error={shop.error} retry={shop.reload} />
      <div className="columns">
        <Figure
          name="Balance"
          value={balance === undefined ? '…' : credits(balance.credits)}
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
          value={balance === undefined ? '…' : credits(balance.held)}
          says="credits"
        />
      </div>
      {shop.data === null ? <Bones /> : <Offers shop={shop.data} />}
      <Transactions changedAt={balance?.updatedAt ?? ''} />
      <Purchases changedAt={balance?.updatedAt ?? ''} />
      <Invoices />
    </Page>
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
  return async (query: string, variables: object = {}) => {
    const { page } = await session.ask<{ page: { url: string } }>(query, variables);
    location.assign(page.url);
  };
}

function Offers({ shop }: { shop: Shop }) {
  const openPage = usePaymentPage();
  const plans = shop.plans.filter(({ active, needsProviderPricing }) => active && !needsProviderPricing);
  const { subscription } = shop;
  return (
    <div className="halves">
      <Card title="Buy credits once">
        {shop.creditPacks.length === 0 && (
          <Empty title="No packs are sold at the moment">Ask your provider.</Empty>
        )}
        {shop.creditPacks.map((pack) => (
          <div className="row spread" key={pack.id}>
            <div>
              <h3>{pack.name}</h3>
              <span className="quiet small">{credits(pack.credits)} credits</span>
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
        {subscription !== null && (
          <Notice mood={subscription.isActive ? 'good' : 'warn'}>
            {subscription.plan.name}: {spoken(subscription.status)}
            {subscription.currentPeriodEnd !== null && (
              <>
                , {subscription.cancelAtPeriodEnd ? 'ends' : 'renews'}{' '}
                <Moment at={subscription.currentPeriodEnd} />
              </>
            )}
          </Notice>
        )}
        {plans.length === 0 && <Empty title="No plans are sold at the moment">Packs need none.</Empty>}
        {subscription?.isActive !== true &&
          plans.map((plan) => (
            <div className="row spread" key={plan.id}>
              <div>
                <h3>{plan.name}</h3>
                <span className="quiet small">
                  {plan.billingMode === 'POSTPAID'
                    ? 'Calls are invoiced monthly'
                    : `${credits(plan.credits)} credits`}
                  , {money(plan.price, plan.currency)} a {plan.interval.toLowerCase()}
                </span>
              </div>
              <Act name={`Subscribe to ${plan.name}`} work={() => openPage(SUBSCRIBE, { id: plan.id })} />
            </div>
          ))}
      </Card>
    </div>
  );
}
