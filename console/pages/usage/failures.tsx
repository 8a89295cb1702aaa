import { Link } from 'wouter';
import { useFilters } from '../../operations/filters.tsx';
import { saveCsv } from '../../parts/files.ts';
import { Choice } from '../../parts/form.tsx';
import { type Column, List, Nil } from '../../parts/list.tsx';
import { Card, Notice, Tag } from '../../parts/page.tsx';
import { count, exact, ModelName, Moment } from '../../parts/words.tsx';
import { useIsAdmin } from '../../session/console-context.ts';
import { type DataOf, graphql } from '../../session/graphql.ts';
import { useQuery } from '../../session/use-query.ts';
import { requestsHref } from './usage-data.ts';

const FAILURES = graphql(`query($from: DateTime, $to: DateTime, $groupBy: [UsageGroup!]) {
  usageFailures(from: $from, to: $to, groupBy: $groupBy) {
    rows { outcome reason httpStatus day alias keyId calls lastAt }
    latest { id requestId outcome reason httpStatus alias keyId startedAt }
    countedFrom
  }
}`);
const GROUPS = { NONE: 'Reason only', DAY: 'Day', ALIAS: 'Model', KEY: 'Key' } as const;
const LOOK_EVERY_MS = 15_000;

type FailureRow = DataOf<typeof FAILURES>['usageFailures']['rows'][number];
type FailedCall = DataOf<typeof FAILURES>['usageFailures']['latest'][number];
type Group = keyof typeof GROUPS;

interface FailuresProps {
  readonly from: string;
  readonly to: string;
  nameOf(row: { day: string | null; alias: string | null; keyId: string | null }): string;
}

export function Failures({ from, to, nameOf }: FailuresProps) {
  const { setFilter, oneOf } = useFilters();
  const group = oneOf('split', Object.keys(GROUPS) as Group[]) ?? 'NONE';
  const groupBy = group === 'NONE' ? [] : [group];
  const result = useQuery(FAILURES, { from, to, groupBy }, LOOK_EVERY_MS);
  const rows = result.data?.usageFailures.rows ?? null;
  const countedFrom = result.data?.usageFailures.countedFrom ?? null;
  const split: readonly Column<FailureRow>[] =
    group === 'NONE' ? [] : [{ name: GROUPS[group], show: (row) => nameOf(row) }];
  const save = () => {
    const head = ['Why', 'Code', 'Outcome', 'Answered', GROUPS[group], 'Calls', 'Last'];
    const lines = (rows ?? []).map((row) => {
      const why = failureWords(row);
      const by = group === 'NONE' ? '' : nameOf(row);
      return [why, row.reason, row.outcome, row.httpStatus, by, row.calls, row.lastAt];
    });
    saveCsv('failures.csv', head, lines);
  };
  return (
    <>
      <Card
        title="Failures by reason"
        actions={
          <button type="button" className="little" disabled={!rows?.length || result.isStale} onClick={save}>
            Download failures as CSV
          </button>
        }
      >
        <p className="quiet">
          Failed calls reached a model, or tried to. Refused ones never reached a model, and are not among the
          calls above. Neither costs anything. Streams that a caller leaves before their usage are failed and
          free too, up to a number an hour for each key; further ones are read to their usage and charged,
          with the code <code>drained-beyond-free</code>.
        </p>
        {countedFrom !== null && (
          <Notice mood="warn">There are very many: counted since {exact(countedFrom)}.</Notice>
        )}
        <Choice label="Split by" value={group} onChange={(event) => setFilter('split', event.target.value)}>
          {Object.entries(GROUPS).map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </Choice>
        <List
          label="Failures"
          rows={rows}
          isStale={result.isStale}
          error={result.error}
          retry={result.reload}
          keyOf={(row) => [row.outcome, row.reason, row.httpStatus, nameOf(row)].join(' ')}
          nothing="No failures in this time"
          empty={<p>No call failed or was refused.</p>}
          columns={[
            { name: 'Why', show: (row) => <Why failed={row} from={from} to={to} /> },
            ...split,
            { name: 'Answered', show: ({ httpStatus }) => <code>{httpStatus}</code> },
            { name: 'Calls', isNumber: true, show: ({ calls }) => count(calls) },
            { name: 'Last', show: ({ lastAt }) => <Moment at={lastAt} /> },
          ]}
        />
      </Card>
      <Latest calls={result.data?.usageFailures.latest ?? null} nameOf={nameOf} />
    </>
  );
}

function Why({ failed, from, to }: { failed: FailureRow; from: string; to: string }) {
  const { outcome, reason, httpStatus, day, alias, keyId } = failed;
  const isAdmin = useIsAdmin();
  const way = isAdmin ? wayOut(failed) : null;
  return (
    <>
      <div>
        <Tag mood={outcome === 'FAILED' ? 'bad' : 'warn'}>{outcome === 'FAILED' ? 'Failed' : 'Refused'}</Tag>{' '}
        {failureWords(failed)}
      </div>
      <span className="small quiet">
        {reason !== null && <code>{reason}</code>} {way !== null && <Link href={way.href}>{way.name}</Link>}{' '}
        {isAdmin && (
          <Link href={requestsHref({ from, to, code: reason, status: httpStatus, day, alias, keyId })}>
            See the requests
          </Link>
        )}
      </span>
    </>
  );
}

function Latest({ calls, nameOf }: { calls: readonly FailedCall[] | null; nameOf: FailuresProps['nameOf'] }) {
  const isAdmin = useIsAdmin();
  if (calls === null || calls.length === 0) return null;
  return (
    <Card title="Latest failures">
      <List
        label="Latest failures"
        rows={calls.slice(0, 20)}
        keyOf={({ id }) => id}
        empty={null}
        columns={[
          { name: 'When', show: ({ startedAt }) => <Moment at={startedAt} /> },
          { name: 'Why', show: (call) => failureWords(call) },
          { name: 'Model', show: ({ alias }) => (alias === null ? <Nil /> : <ModelName name={alias} />) },
          {
            name: 'Key',
            show: ({ keyId }) =>
              keyId === null ? 'the platform' : nameOf({ day: null, alias: null, keyId }),
          },
          {
            name: 'Request id',
            show: ({ id, requestId }) =>
              isAdmin ? (
                <Link className="mono" href={`/requests?${new URLSearchParams({ open: id, of: requestId })}`}>
                  {requestId}
                </Link>
              ) : (
                <span className="mono">{requestId}</span>
              ),
          },
        ]}
      />
    </Card>
  );
}

/** Why a call failed, in readable words. A reason that is not listed is shown as it is. */
const REASONS: Readonly<Record<string, string>> = {
  'client-left': 'The caller hung up before the answer had ended',
  'drained-without-usage': 'The caller hung up, and no usage came while the stream was read to its end',
  'no-usage': 'The answer came without its usage, so it is not charged',
  'upstream-broken': 'The provider broke off in the middle of its answer',
  'upstream-time-out': 'The provider was silent for too long',
  'time-out': 'The provider was silent for too long',
  'upstream-too-large': 'The provider’s answer was too large',
  'unreadable-document': 'The document could not be read',
  INSUFFICIENT_CREDITS: 'There were no credits left',
  CREDITS_HELD: 'Running calls held the credits that were left',
  BLOCKED_BY_HOOK: 'A policy of the operator blocked the call',
  KEY_SPENDING_LIMIT: 'The key had reached its monthly spending limit',
  BUDGET_EXCEEDED: 'A monthly budget was used up',
  LLM_SCOPE_DENIED: 'The key lacks the scope',
  LLM_MODEL_NOT_ALLOWED: 'The key may not call this model',
  PLAN_LIMIT_EXCEEDED: 'An invoice is overdue',
  COMPANY_SUSPENDED: 'The company was suspended',
  PROVIDER_KEY_REFUSED: 'The provider refused the company’s own key',
  PROVIDER_RATE_LIMITED: 'Every provider of the model limited the rate of requests',
  LLM_GATEWAY_UNAVAILABLE: 'No provider could be reached',
  rateLimited: 'A limit of the key or a ceiling of the company was reached',
  addressLimited: 'Too many requests came from its address. The operator sets that limit',
  invalidRequest: 'The request could not be read',
  UNPRICED_LIMIT: 'Too many answers of the day had a cost that no price covers',
  notFound: 'There is no such route',
  idempotencyConflict: 'The idempotency key was taken',
  tooLarge: 'The request was too large',
  tooSlow: 'The request did not arrive in time',
  unsupportedEncoding: 'The request was compressed in a way that is not supported',
};

/** Why a call succeeded, and was charged, although its caller left. */
export const CHARGED_REASONS: Readonly<Record<string, string>> = {
  drained: 'The caller hung up; the stream was read to its usage',
  'drained-beyond-free':
    'The caller hung up after the free streams of the hour were used up; the stream was read to its usage',
};

/** What the user can do about it, if anything. */
const WAYS_OUT: Readonly<Record<string, { readonly href: string; readonly name: string }>> = {
  INSUFFICIENT_CREDITS: { href: '/billing', name: 'Buy credits' },
  CREDITS_HELD: { href: '/billing', name: 'Buy credits' },
  KEY_SPENDING_LIMIT: { href: '/keys', name: 'Raise its limit' },
  BUDGET_EXCEEDED: { href: '/budgets', name: 'See the budgets' },
  PLAN_LIMIT_EXCEEDED: { href: '/billing', name: 'See the invoices' },
  LLM_SCOPE_DENIED: { href: '/keys', name: 'See the keys' },
  LLM_MODEL_NOT_ALLOWED: { href: '/keys', name: 'See the keys' },
  PROVIDER_KEY_REFUSED: { href: '/provider-keys', name: 'See the provider keys' },
  rateLimited: { href: '/keys', name: 'See its limits' },
};

/** A call that failed for one of these reasons had passed our own checks: the provider refused it. */
const SAID_BY_PROVIDERS = ['invalidRequest', 'rateLimited', 'notFound', 'tooLarge', 'tooSlow'];

interface Failed {
  readonly outcome: 'FAILED' | 'REFUSED';
  readonly reason: string | null;
  readonly httpStatus: number;
}

export function failureWords({ outcome, reason, httpStatus }: Failed): string {
  if (outcome === 'FAILED' && reason !== null && SAID_BY_PROVIDERS.includes(reason)) {
    return `The provider refused it with ${httpStatus}`;
  }
  if (reason === null) return `The provider answered ${httpStatus}`;
  return REASONS[reason] ?? reason;
}

export function wayOut({ outcome, reason }: Failed): { readonly href: string; readonly name: string } | null {
  return reason === null || outcome === 'FAILED' ? null : (WAYS_OUT[reason] ?? null);
}
