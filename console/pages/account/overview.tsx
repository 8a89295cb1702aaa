import { useMemo } from 'react';
import { Link } from 'wouter';
import { Chart } from '../../parts/chart.tsx';
import { Bones, Card, Empty, Figure, InOrder, Notice, Page, Problem } from '../../parts/page.tsx';
import { count, credits, roundedCredits } from '../../parts/words.tsx';
import { useSessionState } from '../../session/console-context.ts';
import { type DataOf, graphql } from '../../session/graphql.ts';
import { useQuery } from '../../session/use-query.ts';
import { balanceWarning, byDay, daysAgo, USAGE, type UsageData } from '../usage/usage-data.ts';
import { FirstCall } from './first-call.tsx';

const STANDING = graphql(`{
  company { name billingMode }
  creditBalance { credits held }
  myCreditBalance { credits held }
  subscription { status isActive plan { name } }
}`);
const LOOK_EVERY_MS = 5_000;

type Standing = DataOf<typeof STANDING>;

export function Overview() {
  // With every repeat: a page that stays open goes on to the next day.
  const range = { from: daysAgo(29, Date.now()), to: daysAgo(0, Date.now()) };
  const standing = useQuery(STANDING, {}, LOOK_EVERY_MS);
  const usage = useQuery(USAGE, { ...range, groupBy: ['DAY'] }, LOOK_EVERY_MS);
  const totals = usage.data?.usage.totals;
  const name = standing.data?.company.name;
  const error = standing.error ?? usage.error;
  const known = standing.data === null || usage.data === null ? null : stepsKnown(standing.data, usage.data);
  return (
    <Page title="Overview" says={name === undefined ? 'The last 30 days.' : `${name}, the last 30 days.`}>
      <Problem error={error} retry={() => Promise.all([standing.reload(), usage.reload()])} />
      <InOrder>
        {known === null && error === null && <Bones lines={1} />}
        <Attention standing={standing.data} usage={usage.data} />
        {(known !== null || error === null) && <FirstCall known={known} />}
        <div className="columns">
          <Figure
            name="Balance"
            value={standing.data === null ? '…' : roundedCredits(standing.data.creditBalance.credits)}
            exact={standing.data === null ? undefined : credits(standing.data.creditBalance.credits)}
            says={`credits, ${standing.data === null ? '…' : roundedCredits(standing.data.creditBalance.held)} held by calls`}
          />
          {standing.data?.myCreditBalance != null && (
            <Figure
              name="Your own balance"
              value={roundedCredits(standing.data.myCreditBalance.credits)}
              exact={credits(standing.data.myCreditBalance.credits)}
              says={`credits, ${roundedCredits(standing.data.myCreditBalance.held)} held by calls`}
            />
          )}
          <Figure
            name="Spent"
            value={totals === undefined ? '…' : roundedCredits(totals.credits)}
            exact={totals === undefined ? undefined : credits(totals.credits)}
            says="credits"
          />
          <Figure name="Calls" value={totals === undefined ? '…' : count(totals.calls)} says="all models" />
          <Figure
            name="Failures"
            value={totals === undefined ? '…' : count(totals.failures)}
            says="free of charge"
          />
        </div>
        {usage.data === null ? (
          usage.error === null && <Bones lines={6} />
        ) : (
          <Charts data={usage.data} {...range} />
        )}
      </InOrder>
    </Page>
  );
}

function stepsKnown({ company, creditBalance }: Standing, { usage }: UsageData) {
  return {
    hasCredits: creditBalance.credits > 0 || company.billingMode === 'POSTPAID',
    hasCalls: usage.totals.calls > 0,
  };
}

function Attention({ standing, usage }: { standing: Standing | null; usage: UsageData | null }) {
  const state = useSessionState();
  const isAdmin = state.status === 'in' && state.person.role === 'COMPANY_ADMIN';
  if (standing === null || usage === null) return null;
  const { company, creditBalance, subscription } = standing;
  const { calls, failures } = usage.usage.totals;
  const warning =
    company.billingMode === 'PREPAID'
      ? balanceWarning(creditBalance.credits, usage.usage.rows, Date.now())
      : null;
  return (
    <>
      {warning !== null && (
        <Notice mood="warn">
          {warning} {isAdmin && <Link href="/billing">Buy credits</Link>}
        </Notice>
      )}
      {subscription?.status === 'PAST_DUE' && (
        <Notice mood="bad">
          The last payment for {subscription.plan.name} failed.{' '}
          {isAdmin && <Link href="/billing">Update your payment method</Link>}
        </Notice>
      )}
      {calls >= 20 && failures / calls > 0.2 && (
        <Notice mood="warn">
          {failing(calls, failures)} <Link href="/usage">See which</Link>
        </Notice>
      )}
    </>
  );
}

function failing(calls: number, failures: number): string {
  const share = Math.round(calls / failures);
  if (failures >= calls) return 'Every call fails.';
  return share < 2 ? 'Most calls fail.' : `One call in ${share} fails.`;
}

function Charts({ data, from, to }: { data: UsageData; from: string; to: string }) {
  const { days, spent, made } = useMemo(() => {
    const { days, series } = byDay(data.usage.rows, from, to);
    return {
      days,
      spent: [{ name: 'Credits', colour: '--accent', values: series((totals) => totals.credits) }] as const,
      made: [
        { name: 'Calls', colour: '--good', values: series((totals) => totals.calls) },
        { name: 'Failures', colour: '--bad', values: series((totals) => totals.failures) },
      ] as const,
    };
  }, [data, from, to]);
  if (data.usage.totals.calls === 0) {
    return (
      <Card title="Spend and calls by day">
        <Empty title="No calls in the last 30 days">
          <p>
            See what the models cost under <Link href="/prices">Models and prices</Link>.
          </p>
        </Empty>
      </Card>
    );
  }
  return (
    <div className="halves">
      <Card title="Spend by day">
        <Chart label="Credits spent by day" days={days} series={spent} />
      </Card>
      <Card title="Calls by day">
        <Chart label="Calls and failures by day" days={days} series={made} />
      </Card>
    </div>
  );
}
