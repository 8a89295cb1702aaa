import { Link } from 'wouter';
import { Confirmed } from '../parts/dialog.tsx';
import { List, Nil } from '../parts/list.tsx';
import { Card, type Mood, Page, Tag } from '../parts/page.tsx';
import { count, duration, Moment, secondsUntil, spoken } from '../parts/words.tsx';
import { graphql, type RowOf } from '../session/graphql.ts';
import { useChange, useQuery } from '../session/use-query.ts';

const BREAKERS = graphql(`{ circuitBreakers { service state failuresInARow aliases lastErrorReason lastErrorAt
  nextTryAt cooling { alias model status until } } }`);
const RESET = graphql(`mutation($service: String!) { resetCircuitBreaker(service: $service) { state } }`);
const LOOK_EVERY_MS = 2_000;
const MOODS: Record<Breaker['state'], Mood> = { CLOSED: 'good', OPEN: 'bad', HALF_OPEN: 'warn' };

type Breaker = RowOf<typeof BREAKERS>;

export function Breakers() {
  const result = useQuery(BREAKERS, {}, LOOK_EVERY_MS);
  const change = useChange(result.reload);
  return (
    <Page
      title="Breakers"
      says="The circuit breakers of external AI services. A service that fails repeatedly is not called for a while and then tested once."
    >
      <Card>
        <List
          label="Breakers"
          rows={result.data?.circuitBreakers ?? null}
          error={result.error}
          retry={result.reload}
          keyOf={({ service }) => service}
          nameOf={({ service }) => service}
          nothing="No external AI service"
          empty={
            <p>
              The embedded models answer for every alias. <Link href="/models">Set targets</Link> to call
              providers.
            </p>
          }
          columns={[
            { name: 'Service', show: ({ service }) => <code>{service}</code> },
            {
              name: 'State',
              show: ({ state }) => (
                <span role="status">
                  <Tag mood={MOODS[state]}>{spoken(state)}</Tag>
                </span>
              ),
            },
            { name: 'Serves', show: ({ aliases }) => <Aliases aliases={aliases} /> },
            {
              name: 'Failures in a row',
              isNumber: true,
              // Failures are counted only until the breaker opens.
              show: ({ state, failuresInARow }) => (state === 'CLOSED' ? count(failuresInARow) : <Nil />),
            },
            {
              name: 'Last error',
              show: ({ lastErrorReason, lastErrorAt }) =>
                lastErrorReason !== null && (
                  <>
                    <div>{lastErrorReason}</div>
                    <div className="quiet small">
                      <Moment at={lastErrorAt} />
                    </div>
                  </>
                ),
            },
            { name: 'Next try', show: (breaker) => <NextTry {...breaker} /> },
            { name: 'Cooling', show: ({ cooling }) => <CoolingTargets cooling={cooling} /> },
            {
              name: 'Actions',
              show: ({ service, state }) =>
                state !== 'CLOSED' && (
                  <Confirmed
                    name="Reset"
                    title={`Call ${service} again?`}
                    says="All processes call it again immediately. If it still fails, the breaker opens again."
                    danger={false}
                    work={() => change(RESET, { service })}
                  />
                ),
            },
          ]}
        />
      </Card>
    </Page>
  );
}

function Aliases({ aliases }: { aliases: readonly string[] }) {
  if (aliases.length === 0) return <span className="quiet">nothing any more</span>;
  return aliases.map((alias) => (
    <div key={alias}>
      <code>{alias}</code>
    </div>
  ));
}

const COOLS_BY: Readonly<Record<number, string>> = {
  401: 'key refused',
  402: 'account unpaid',
  403: 'access refused',
  407: 'proxy refused',
  429: 'rate limit',
};

/** Targets that are tried last; the service's other targets are called as usual. */
function CoolingTargets({ cooling }: Pick<Breaker, 'cooling'>) {
  if (cooling.length === 0) return <Nil />;
  return cooling.map(({ alias, model, status, until }) => (
    <div key={`${alias} ${model}`}>
      <code>{alias}</code> ({model}): {status} {COOLS_BY[status] ?? 'refused'},{' '}
      {duration(secondsUntil(until))} left
    </div>
  ));
}

function NextTry({ state, nextTryAt }: Breaker) {
  if (state === 'CLOSED' || nextTryAt === null) return null;
  const seconds = secondsUntil(nextTryAt);
  if (state === 'HALF_OPEN' || seconds <= 0) return 'with the next call';
  return `in ${duration(seconds)}`;
}
