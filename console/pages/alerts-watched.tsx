import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { Facts } from '../parts/facts.tsx';
import { Card } from '../parts/page.tsx';
import { credits } from '../parts/words.tsx';
import type { AlertSettings } from './alert-settings.tsx';

export interface Watched {
  readonly alertSettings: AlertSettings;
  readonly company: { readonly billingMode: string; readonly creditLimit: number | null };
  readonly members: {
    readonly nodes: readonly { readonly id: string; readonly email: string; readonly role: string }[];
    readonly pageInfo: { readonly hasNextPage: boolean };
  };
  readonly apiKeys: readonly {
    readonly id: string;
    readonly name: string;
    readonly status: string;
    readonly monthlySpendingLimit: number | null;
  }[];
}

/** What is watched and who is told, in words. */
export function AlertsWatched({ company, apiKeys, alertSettings, members }: Watched) {
  const { balanceThresholds, limitPercents, receivers } = alertSettings;
  const isPrepaid = company.billingMode === 'PREPAID';
  const shares = listed(limitPercents.map((percent) => `${percent} %`));
  const told = receivers ?? members.nodes.filter(({ role }) => role === 'COMPANY_ADMIN');
  return (
    <div className="halves">
      <Card title="What is watched">
        <Facts
          facts={[
            ['Balance', isPrepaid && balanceWords(balanceThresholds)],
            ['Credit limit', !isPrepaid && limitWords(company.creditLimit, shares)],
            ['Keys', keysWords(apiKeys, shares)],
          ]}
        />
      </Card>
      <Card title="Who is told">
        <p className="quiet">
          {receivers === null ? (
            <>
              Every admin of your company, by mail. Whoever becomes an admin under{' '}
              <Link href="/team">Team</Link> is told too.
            </>
          ) : (
            'Those who were chosen, by mail, for as long as they belong to your company; then every admin.'
          )}
        </p>
        <ul className="points">
          {told.map(({ email }) => (
            <li key={email}>{email}</li>
          ))}
        </ul>
      </Card>
    </div>
  );
}

function balanceWords(thresholds: readonly number[] | null): string {
  if (thresholds === null) {
    return 'when 20 %, 5 % and nothing is left of what you had after the last top-up; once for each top-up';
  }
  return `when ${listed(thresholds.map(credits))} credits are left; once for each top-up`;
}

function limitWords(limit: number | null, shares: string): string {
  if (limit === null) return 'you have none: there is nothing to watch';
  return `when ${shares} of ${credits(limit)} credits are used; once a month`;
}

function keysWords(apiKeys: Watched['apiKeys'], shares: string): ReactNode {
  const limited = apiKeys.filter((key) => key.status === 'LIVE' && key.monthlySpendingLimit !== null);
  if (limited.length === 0) {
    return (
      <>
        no key has a monthly limit. <Link href="/keys">Set one</Link> to be told at {shares} of it.
      </>
    );
  }
  return (
    <>
      {limited.map(({ name }) => name).join(', ')}: at {shares} of the monthly limit.{' '}
      <Link href="/keys">Change limits</Link>
    </>
  );
}

/** “a, b and c” */
function listed(words: readonly string[]): string {
  return [words.slice(0, -1).join(', '), ...words.slice(-1)].filter((part) => part !== '').join(' and ');
}
