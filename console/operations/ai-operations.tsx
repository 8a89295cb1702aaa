import { Link } from 'wouter';
import { Choice } from '../parts/form.tsx';
import { List, Nil } from '../parts/list.tsx';
import { Card, InOrder, type Mood, Page, Tag } from '../parts/page.tsx';
import { TargetName, useTargets } from '../parts/target-name.tsx';
import { Breakable, count, latency, Moment, spoken } from '../parts/words.tsx';
import { graphql } from '../session/graphql.ts';
import { usePages, useQuery } from '../session/use-query.ts';
import { HoursChoice, useFilters } from './filters.tsx';

type Outcome = 'SUCCEEDED' | 'FAILED' | 'REFUSED';

const STATS = graphql(
  `query($hours: Int) { aiOperationStats(hours: $hours) { kind outcome count p50Ms p95Ms p99Ms } }`,
);
const TARGET_STATS = graphql(
  `query($hours: Int) { aiTargetStats(hours: $hours) { target alias count p50Ms p95Ms p99Ms } }`,
);
const OPERATIONS = graphql(`query($after: ID, $hours: Int, $kind: String, $outcome: OperationOutcome) {
  aiOperations(first: 30, after: $after, hours: $hours, kind: $kind, outcome: $outcome) {
    nodes { id kind alias outcome reason httpStatus promptTokens completionTokens requestId startedAt firstByteMs
      durationMs } pageInfo { hasNextPage endCursor } } }`);
/** Percentiles sort every call of the period, so a longer period is refreshed less often. */
const countEveryMs = (hours: number) => (hours > 24 ? 120_000 : hours > 1 ? 30_000 : 10_000);
const LOOK_EVERY_MS = 5_000;
const MOODS: Record<Outcome, Mood> = { SUCCEEDED: 'good', FAILED: 'bad', REFUSED: 'warn' };
const OUTCOMES = Object.keys(MOODS) as Outcome[];

export function AiOperations() {
  const { filter, hours, setFilter, oneOf } = useFilters();
  const kind = filter('kind');
  const outcome = oneOf('outcome', OUTCOMES);
  const stats = useQuery(STATS, { hours }, countEveryMs(hours));
  const counted = stats.data?.aiOperationStats ?? null;
  const kinds = [
    ...new Set([...(counted ?? []).map((row) => row.kind), ...(kind === '' ? [] : [kind])]),
  ].sort();
  return (
    <Page
      title="AI operations"
      says="Every call to a model, of all companies and of the platform itself, and how long they take."
      actions={<HoursChoice hours={hours} change={(next) => setFilter('hours', String(next))} />}
    >
      <InOrder>
        <Card title="Count and duration">
          <List
            label="Operations counted"
            rows={counted}
            isStale={stats.isStale}
            error={stats.error}
            retry={stats.reload}
            keyOf={(row) => `${row.kind} ${row.outcome}`}
            nothing="No operations"
            empty={<p>No model calls in this period.</p>}
            columns={[
              { name: 'Kind', show: (row) => <code>{row.kind}</code> },
              { name: 'Outcome', show: (row) => <Tag mood={MOODS[row.outcome]}>{spoken(row.outcome)}</Tag> },
              { name: 'Count', isNumber: true, show: (row) => count(row.count) },
              { name: 'Median', isNumber: true, show: ({ p50Ms }) => latency(p50Ms) },
              { name: '95th percentile', isNumber: true, show: ({ p95Ms }) => latency(p95Ms) },
              { name: '99th percentile', isNumber: true, show: ({ p99Ms }) => latency(p99Ms) },
            ]}
          />
        </Card>
      </InOrder>
      <Card title="How soon targets begin to answer">
        <Targets hours={hours} />
      </Card>
      <Card title="Latest operations">
        <div className="columns">
          <Choice label="Kind" value={kind} onChange={(event) => setFilter('kind', event.target.value)}>
            <option value="">All kinds</option>
            {kinds.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </Choice>
          <Choice
            label="Outcome"
            value={outcome ?? ''}
            onChange={(event) => setFilter('outcome', event.target.value)}
          >
            <option value="">All outcomes</option>
            {OUTCOMES.map((one) => (
              <option key={one} value={one}>
                {spoken(one)}
              </option>
            ))}
          </Choice>
        </div>
        <Newest
          filter={{ hours, ...(kind === '' ? {} : { kind }), ...(outcome === undefined ? {} : { outcome }) }}
        />
      </Card>
    </Page>
  );
}

/** The slowest first. */
function Targets({ hours }: { hours: number }) {
  const stats = useQuery(TARGET_STATS, { hours }, countEveryMs(hours));
  const targets = useTargets();
  return (
    <List
      label="Targets"
      rows={targets === null ? null : (stats.data?.aiTargetStats ?? null)}
      isStale={stats.isStale}
      error={stats.error}
      retry={stats.reload}
      keyOf={({ target, alias }) => `${target} ${alias}`}
      nothing="No answers"
      empty={<p>No target answered a call in this period.</p>}
      columns={[
        { name: 'Target', show: ({ target }) => <TargetName id={target} targets={targets} /> },
        { name: 'Model', show: ({ alias }) => (alias === null ? <Nil /> : <code>{alias}</code>) },
        { name: 'Answers', isNumber: true, show: (row) => count(row.count) },
        { name: 'Median', isNumber: true, show: ({ p50Ms }) => latency(p50Ms) },
        { name: '95th percentile', isNumber: true, show: ({ p95Ms }) => latency(p95Ms) },
        { name: '99th percentile', isNumber: true, show: ({ p99Ms }) => latency(p99Ms) },
      ]}
    />
  );
}

function Newest({ filter }: { filter: object }) {
  const pages = usePages(OPERATIONS, filter, () => LOOK_EVERY_MS);
  return (
    <List
      label="Operations"
      rows={pages.nodes}
      error={pages.error}
      retry={pages.reload}
      more={pages}
      keyOf={({ id }) => id}
      nothing="No such operation"
      empty={<p>Choose another kind, outcome or time.</p>}
      columns={[
        { name: 'Started', show: ({ startedAt }) => <Moment at={startedAt} /> },
        {
          name: 'Operation',
          show: ({ kind, alias }) => (
            <>
              <code className="whole">{kind}</code>
              {alias !== null && <div className="quiet small">{alias}</div>}
            </>
          ),
        },
        {
          name: 'Outcome',
          show: ({ outcome, reason, httpStatus }) => (
            <>
              <Tag mood={MOODS[outcome]}>{spoken(outcome)}</Tag>
              {outcome !== 'SUCCEEDED' && (
                <div className="quiet small whole">
                  {httpStatus}
                  {reason !== null && (
                    <>
                      , <Breakable text={reason} after="_" />
                    </>
                  )}
                </div>
              )}
            </>
          ),
        },
        { name: 'Duration', isNumber: true, show: ({ durationMs }) => latency(durationMs) },
        {
          name: 'First byte',
          isNumber: true,
          show: ({ firstByteMs }) => (firstByteMs === null ? <Nil /> : latency(firstByteMs)),
        },
        {
          name: 'Tokens',
          isNumber: true,
          show: ({ promptTokens, completionTokens }) =>
            promptTokens === null ? (
              <Nil />
            ) : (
              `${count(promptTokens)} in, ${count(completionTokens ?? 0)} out`
            ),
        },
        {
          name: 'Request',
          show: ({ id, outcome, requestId }) => (
            <>
              <code className="quiet">{requestId}</code>
              {outcome !== 'SUCCEEDED' && (
                <div>
                  <Link href={`/errors?request=${id}`}>Lines of the log</Link>
                </div>
              )}
            </>
          ),
        },
      ]}
    />
  );
}
