import { Link, useSearchParams } from 'wouter';
import { Choice } from '../parts/form.tsx';
import { List } from '../parts/list.tsx';
import { Card, type Mood, Page, Tag } from '../parts/page.tsx';
import { count, Moment, spoken } from '../parts/words.tsx';
import { graphql } from '../session/graphql.ts';
import { usePages, useQuery } from '../session/use-query.ts';
import { HoursChoice } from './hours-choice.tsx';
import { took } from './lasting.ts';
import { Nil } from './nil.tsx';

type Outcome = 'SUCCEEDED' | 'FAILED' | 'REFUSED';

interface Operation {
  readonly id: string;
  readonly kind: string;
  readonly alias: string | null;
  readonly outcome: Outcome;
  readonly reason: string | null;
  readonly httpStatus: number;
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly requestId: string;
  readonly startedAt: string;
  readonly firstByteMs: number | null;
  readonly durationMs: number;
}

interface Stats {
  readonly kind: string;
  readonly outcome: Outcome;
  readonly count: number;
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly p99Ms: number;
}

const STATS = graphql(
  `query($hours: Int) { aiOperationStats(hours: $hours) { kind outcome count p50Ms p95Ms p99Ms } }`,
);
const OPERATIONS = graphql(`query($after: ID, $hours: Int, $kind: String, $outcome: OperationOutcome) {
  aiOperations(first: 30, after: $after, hours: $hours, kind: $kind, outcome: $outcome) {
    nodes { id kind alias outcome reason httpStatus promptTokens completionTokens requestId startedAt firstByteMs
      durationMs } pageInfo { hasNextPage endCursor } } }`);
/** Percentiles have every call of the time sorted: the longer it is, the less often. */
const countEveryMs = (hours: number) => (hours > 24 ? 120_000 : hours > 1 ? 30_000 : 10_000);
const LOOK_EVERY_MS = 5_000;
const MOODS: Record<Outcome, Mood> = { SUCCEEDED: 'good', FAILED: 'bad', REFUSED: 'warn' };

/** What is looked for stands in the address, so that it can be sent to somebody. */
export function AiOperations() {
  const [wanted, setWanted] = useSearchParams();
  const hours = Number(wanted.get('hours') ?? 24);
  const kind = wanted.get('kind') ?? '';
  const outcome = wanted.get('outcome') ?? '';
  const stats = useQuery<{ aiOperationStats: readonly Stats[] }>(STATS, { hours }, countEveryMs(hours));
  const counted = stats.data?.aiOperationStats ?? null;
  const kinds = [
    ...new Set([...(counted ?? []).map((row) => row.kind), ...(kind === '' ? [] : [kind])]),
  ].sort();
  const want = (name: string, value: string) =>
    setWanted((now) => {
      const next = new URLSearchParams(now);
      if (value === '') next.delete(name);
      else next.set(name, value);
      return next;
    });
  return (
    <Page
      title="AI operations"
      says="Every call to a model, of all companies and of the platform itself, and how long they take."
      actions={<HoursChoice hours={hours} change={(next) => want('hours', String(next))} />}
    >
      <Card title="How many, and how long">
        <List
          label="Operations counted"
          rows={counted}
          error={stats.error}
          retry={stats.reload}
          keyOf={(row) => `${row.kind} ${row.outcome}`}
          nothing="No operations"
          empty={<p>Nobody has called a model in this time.</p>}
          columns={[
            { name: 'Kind', show: (row) => <code>{row.kind}</code> },
            { name: 'Outcome', show: (row) => <Tag mood={MOODS[row.outcome]}>{spoken(row.outcome)}</Tag> },
            { name: 'Count', isNumber: true, show: (row) => count(row.count) },
            { name: 'Half within', isNumber: true, show: ({ p50Ms }) => took(p50Ms) },
            { name: '95 % within', isNumber: true, show: ({ p95Ms }) => took(p95Ms) },
            { name: '99 % within', isNumber: true, show: ({ p99Ms }) => took(p99Ms) },
          ]}
        />
      </Card>
      <Card title="The newest">
        <div className="columns">
          <Choice label="Kind" value={kind} onChange={(event) => want('kind', event.target.value)}>
            <option value="">All kinds</option>
            {kinds.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </Choice>
          <Choice label="Outcome" value={outcome} onChange={(event) => want('outcome', event.target.value)}>
            <option value="">All outcomes</option>
            {Object.keys(MOODS).map((one) => (
              <option key={one} value={one}>
                {spoken(one)}
              </option>
            ))}
          </Choice>
        </div>
        <Newest
          filter={{ hours, ...(kind === '' ? {} : { kind }), ...(outcome === '' ? {} : { outcome }) }}
        />
      </Card>
    </Page>
  );
}

function Newest({ filter }: { filter: object }) {
  const pages = usePages<Operation>(OPERATIONS, 'aiOperations', filter, () => LOOK_EVERY_MS);
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
        { name: 'Began', show: ({ startedAt }) => <Moment at={startedAt} /> },
        {
          name: 'Operation',
          show: ({ kind, alias }) => (
            <>
              <code>{kind}</code>
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
                <div className="quiet small">
                  {httpStatus}
                  {reason !== null && `, ${reason}`}
                </div>
              )}
            </>
          ),
        },
        { name: 'Took', isNumber: true, show: ({ durationMs }) => took(durationMs) },
        {
          name: 'First byte',
          isNumber: true,
          show: ({ firstByteMs }) => (firstByteMs === null ? <Nil /> : took(firstByteMs)),
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
