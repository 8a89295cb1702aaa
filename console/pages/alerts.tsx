import { useState } from 'react';
import { List } from '../parts/list.tsx';
import { Bones, Card, type Mood, Notice, Page, Problem, Tag } from '../parts/page.tsx';
import { credits, Moment } from '../parts/words.tsx';
import { graphql } from '../session/graphql.ts';
import { useQuery } from '../session/use-asking.ts';
import { ChangeAlerts } from './alert-settings.tsx';
import { AlertsWatched, type Watched } from './alerts-watched.tsx';

interface Alert {
  readonly kind: 'LOW_BALANCE' | 'CREDIT_LINE' | 'KEY_SPENDING';
  readonly thresholdPercent: number;
  /** In credits, where the company had set it itself. */
  readonly threshold: number | null;
  readonly keyName: string | null;
  readonly raisedAt: string;
  readonly mailedAt: string | null;
}

interface AlertsData extends Watched {
  readonly creditAlerts: readonly Alert[];
}

const ALERTS = graphql(`{
  creditAlerts { kind thresholdPercent threshold keyName raisedAt mailedAt }
  alertSettings { isOn balanceThresholds limitPercents receivers { email } }
  company { billingMode creditLimit }
  members(first: 100) { nodes { id email role } pageInfo { hasNextPage } }
  apiKeys { id name status monthlySpendingLimit }
}`);
const LOOK_EVERY_MS = 15_000;

export function Alerts() {
  const { data, error, reload } = useQuery<AlertsData>(ALERTS, {}, LOOK_EVERY_MS);
  const [isSet, setSet] = useState(false);
  const change = data !== null && (
    <ChangeAlerts
      settings={data.alertSettings}
      isPrepaid={data.company.billingMode === 'PREPAID'}
      people={{
        emails: data.members.nodes.map(({ email }) => email),
        hasMore: data.members.pageInfo.hasNextPage,
      }}
      changed={async () => {
        await reload();
        setSet(true);
      }}
    />
  );
  return (
    <Page
      title="Alerts"
      says="What is watched, who is told by mail, and what was told."
      actions={change || undefined}
    >
      <Problem error={error} retry={reload} />
      {isSet && data?.alertSettings.isOn && <Notice mood="good">Set. It holds from now on.</Notice>}
      {data?.alertSettings.isOn === false && (
        <Notice mood="warn">Alerts are off: nothing of this is watched, and nobody is told.</Notice>
      )}
      {data === null ? error === null && <Bones lines={6} /> : <AlertsWatched {...data} />}
      <Card title="What was told">
        <List
          label="Alerts"
          rows={data?.creditAlerts ?? null}
          keyOf={({ kind, thresholdPercent, threshold, raisedAt, keyName }) =>
            [kind, thresholdPercent, threshold, raisedAt, keyName].join(' ')
          }
          nothing="No alerts so far"
          empty={<p>When a line above is passed, it is listed here and mailed.</p>}
          columns={[
            { name: 'When', show: ({ raisedAt }) => <Moment at={raisedAt} /> },
            { name: 'What', show: (alert) => <Tag mood={moodOf(alert)}>{nameOf(alert)}</Tag> },
            { name: 'In words', show: (alert) => wordsOf(alert) },
            { name: 'Mailed', show: ({ mailedAt }) => <Moment at={mailedAt} never="in a moment" /> },
          ]}
        />
      </Card>
    </Page>
  );
}

function moodOf({ kind, thresholdPercent, threshold }: Alert): Mood {
  const isOver = kind === 'LOW_BALANCE' ? (threshold ?? thresholdPercent) === 0 : thresholdPercent >= 100;
  return isOver ? 'bad' : 'warn';
}

function nameOf({ kind }: Alert): string {
  return { LOW_BALANCE: 'Low balance', CREDIT_LINE: 'Credit limit', KEY_SPENDING: 'Key limit' }[kind];
}

function wordsOf({ kind, thresholdPercent, threshold, keyName }: Alert): string {
  switch (kind) {
    case 'LOW_BALANCE':
      if ((threshold ?? thresholdPercent) === 0) return 'The credits are used up';
      return threshold === null
        ? `${thresholdPercent} % of the last top-up is left`
        : `${credits(threshold)} credits or less are left`;
    case 'CREDIT_LINE':
      return `${thresholdPercent} % of the credit limit is used`;
    case 'KEY_SPENDING':
      return `${keyName ?? 'A key'} has spent ${thresholdPercent} % of its monthly limit`;
  }
}
