import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import { Facts } from '../../parts/facts.tsx';
import { List } from '../../parts/list.tsx';
import { Bones, Card, InOrder, type Mood, Notice, Page, Problem, Tag } from '../../parts/page.tsx';
import { credits, Moment } from '../../parts/words.tsx';
import { type DataOf, graphql } from '../../session/graphql.ts';
import { useQuery } from '../../session/use-query.ts';
import { AlertChannels } from './alert-channels.tsx';
import { ChangeAlerts } from './alert-settings.tsx';

const ALERTS = graphql(`{
  creditAlerts { kind thresholdPercent threshold keyName budgetOf raisedAt mailedAt }
  alertSettings { version isOn mail balanceThresholds limitPercents receivers { email } }
  company { billingMode creditLimit }
  members(first: 100) { nodes { id email role } pageInfo { hasNextPage } }
  apiKeyPage(first: 20, status: LIVE, limited: true) { nodes { id name } pageInfo { hasNextPage } }
}`);
const LOOK_EVERY_MS = 15_000;

type AlertsData = DataOf<typeof ALERTS>;
type Alert = AlertsData['creditAlerts'][number];

export function Alerts() {
  const { data, error, reload } = useQuery(ALERTS, {}, LOOK_EVERY_MS);
  const [isSet, setSet] = useState(false);
  const change = data !== null && (
    <ChangeAlerts
      settings={data.alertSettings}
      isPrepaid={data.company.billingMode === 'PREPAID'}
      reload={reload}
      changed={async () => {
        await reload();
        setSet(true);
      }}
    />
  );
  return (
    <Page
      title="Alerts"
      says="Which alerts you get, who gets them by mail, and which were sent."
      actions={change || undefined}
    >
      <Problem error={error} retry={reload} />
      {isSet && data?.alertSettings.isOn && <Notice mood="good">Saved. It takes effect now.</Notice>}
      {data?.alertSettings.isOn === false && (
        <Notice mood="warn">Alerts are off: nothing is watched and no alerts are sent.</Notice>
      )}
      <InOrder>
        {data === null ? error === null && <Bones lines={6} /> : <AlertsWatched {...data} />}
        <AlertChannels />
        <Card title="Alerts sent">
          <List
            label="Alerts"
            rows={data?.creditAlerts ?? null}
            keyOf={({ kind, thresholdPercent, threshold, raisedAt, keyName }) =>
              [kind, thresholdPercent, threshold, raisedAt, keyName].join(' ')
            }
            nothing="No alerts so far"
            empty={<p>When a threshold above is crossed, it is listed here and sent by e-mail.</p>}
            columns={[
              { name: 'When', show: ({ raisedAt }) => <Moment at={raisedAt} /> },
              { name: 'Type', show: (alert) => <Tag mood={moodOf(alert)}>{nameOf(alert)}</Tag> },
              { name: 'Alert', show: (alert) => wordsOf(alert) },
              { name: 'Mailed', show: ({ mailedAt }) => <Moment at={mailedAt} never="in a moment" /> },
            ]}
          />
        </Card>
      </InOrder>
    </Page>
  );
}

function moodOf({ kind, thresholdPercent, threshold }: Alert): Mood {
  const isOver = kind === 'LOW_BALANCE' ? (threshold ?? thresholdPercent) === 0 : thresholdPercent >= 100;
  return isOver ? 'bad' : 'warn';
}

function nameOf({ kind }: Alert): string {
  return {
    ...{
      LOW_BALANCE: 'Low balance',
      CREDIT_LINE: 'Credit limit',
      KEY_SPENDING: 'Key limit',
      BUDGET: 'Budget',
    },
  }[kind];
}

function wordsOf({ kind, thresholdPercent, threshold, keyName, budgetOf }: Alert): string {
  switch (kind) {
    case 'LOW_BALANCE':
      if ((threshold ?? thresholdPercent) === 0) return 'The credits are used up';
      return threshold === null
        ? `${thresholdPercent}% of the last top-up is left`
        : `${credits(threshold)} credits or less are left`;
    case 'CREDIT_LINE':
      return `${thresholdPercent}% of the credit limit is used`;
    case 'KEY_SPENDING':
      return `${keyName ?? 'A key'} has spent ${thresholdPercent}% of its monthly limit`;
    case 'BUDGET':
      return `${thresholdPercent}% of the budget of ${budgetOf ?? 'what is deleted'} is spent`;
  }
}

/** What is watched and who receives the alerts. */
function AlertsWatched({ company, apiKeyPage, alertSettings, members }: AlertsData) {
  const { balanceThresholds, limitPercents, receivers } = alertSettings;
  const isPrepaid = company.billingMode === 'PREPAID';
  const shares = listed(limitPercents.map((percent) => `${percent}%`));
  const recipients = receivers ?? members.nodes.filter(({ role }) => role === 'COMPANY_ADMIN');
  return (
    <div className="halves">
      <Card title="Thresholds">
        <Facts
          facts={[
            ['Balance', isPrepaid && balanceWords(balanceThresholds)],
            ['Credit limit', !isPrepaid && limitWords(company.creditLimit, shares)],
            ['Keys', keysWords(apiKeyPage, shares)],
          ]}
        />
      </Card>
      <Card title="Recipients">
        <p className="quiet">
          {!alertSettings.mail ? (
            'No one gets them by mail: alerts go to the channels only.'
          ) : receivers === null ? (
            <>
              Every admin of your company, by mail. New admins under <Link href="/team">Team</Link> get them
              too.
            </>
          ) : (
            'The people you chose, by mail. If all of them have left your company, every admin.'
          )}
        </p>
        <ul className="points">
          {(alertSettings.mail ? recipients : []).map(({ email }) => (
            <li key={email}>{email}</li>
          ))}
          {receivers === null && members.pageInfo.hasNextPage && (
            <li>
              and other admins: see <Link href="/team">Team</Link>
            </li>
          )}
        </ul>
      </Card>
    </div>
  );
}

function balanceWords(thresholds: readonly number[] | null): string {
  if (thresholds === null) {
    return 'when 20%, 5% and nothing is left of what you had after the last top-up; once for each top-up';
  }
  return `when ${listed(thresholds.map(credits))} credits are left; once for each top-up`;
}

function limitWords(limit: number | null, shares: string): string {
  if (limit === null) return 'you have none: there is nothing to watch';
  return `when ${shares} of ${credits(limit)} credits are used; once a month`;
}

function keysWords({ nodes, pageInfo }: AlertsData['apiKeyPage'], shares: string): ReactNode {
  if (nodes.length === 0) {
    return (
      <>
        no key has a monthly limit. <Link href="/keys">Set one</Link> to get an alert at {shares} of it.
      </>
    );
  }
  return (
    <>
      {nodes.map(({ name }) => name).join(', ')}
      {pageInfo.hasNextPage && ' and others'}: at {shares} of the monthly limit.{' '}
      <Link href="/keys">Change limits</Link>
    </>
  );
}

/** “a, b and c” */
function listed(words: readonly string[]): string {
  return [words.slice(0, -1).join(', '), ...words.slice(-1)].filter((part) => part !== '').join(' and ');
}
