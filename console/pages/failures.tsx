import { useState } from 'react';
import { Link } from 'wouter';
import { saveCsv } from '../parts/csv.ts';
import { Choice } from '../parts/form.tsx';
import { type Column, List } from '../parts/list.tsx';
import { Card, Notice, Tag } from '../parts/page.tsx';
import { count, exact, Moment } from '../parts/words.tsx';
import { useIsAdmin } from '../session/console-context.ts';
import { graphql } from '../session/graphql.ts';
import { useQuery } from '../session/use-asking.ts';
import { failureWords, wayOut } from './failure-words.ts';

interface WhatFailed {
  readonly outcome: 'FAILED' | 'REFUSED';
  readonly reason: string | null;
  readonly httpStatus: number;
  readonly alias: string | null;
  readonly keyId: string | null;
}

interface FailureRow extends WhatFailed {
  readonly day: string | null;
  readonly calls: number;
  readonly lastAt: string;
}

interface FailedCall extends WhatFailed {
  readonly id: string;
  readonly requestId: string;
  readonly startedAt: string;
}

interface FailuresData {
  readonly usageFailures: {
    readonly rows: readonly FailureRow[];
    readonly latest: readonly FailedCall[];
    readonly countedFrom: string | null;
  };
}

const FAILURES = graphql(`query($from: DateTime, $to: DateTime, $groupBy: [UsageGroup!]) {
  usageFailures(from: $from, to: $to, groupBy: $groupBy) {
    rows { outcome reason httpStatus day alias keyId calls lastAt }
    latest { id requestId outcome reason httpStatus alias keyId startedAt }
    countedFrom
  }
}`);
const GROUPS = { NONE: 'Reason alone', DAY: 'Day', ALIAS: 'Model', KEY: 'Key' } as const;
type Group = keyof typeof GROUPS;
const LOOK_EVERY_MS = 15_000;

interface FailuresProps {
  readonly from: string;
  readonly to: string;
  nameOf(row: { day: string | null; alias: string | null; keyId: string | null }): string;
}

export function Failures({ from, to, nameOf }: FailuresProps) {
  const [group, setGroup] = useState<Group>('NONE');
  const groupBy = group === 'NONE' ? [] : [group];
  const asked = useQuery<FailuresData>(FAILURES, { from, to, groupBy }, LOOK_EVERY_MS);
  const rows = asked.data?.usageFailures.rows ?? null;
  const countedFrom = asked.data?.usageFailures.countedFrom ?? null;
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
        title="Failures and why"
        actions={
          <button type="button" className="little" disabled={!rows?.length} onClick={save}>
            Save failures as CSV
          </button>
        }
      >
        <p className="quiet">
          Failed calls reached a model, or tried to. Refused ones were turned away before, and are not among
          the calls above. Neither costs anything.
        </p>
        {countedFrom !== null && (
          <Notice mood="warn">There are very many: counted since {exact(countedFrom)}.</Notice>
        )}
        <Choice label="Split by" value={group} onChange={(event) => setGroup(event.target.value as Group)}>
          {Object.entries(GROUPS).map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </Choice>
        <List
          label="Failures"
          rows={rows}
          error={asked.error}
          retry={asked.reload}
          keyOf={(row) => [row.outcome, row.reason, row.httpStatus, nameOf(row)].join(' ')}
          nothing="No failures in this time"
          empty={<p>Every call went through.</p>}
          columns={[
            { name: 'Why', show: (row) => <Why failed={row} /> },
            ...split,
            { name: 'Answered', show: ({ httpStatus }) => <code>{httpStatus}</code> },
            { name: 'Calls', isNumber: true, show: ({ calls }) => count(calls) },
            { name: 'Last', show: ({ lastAt }) => <Moment at={lastAt} /> },
          ]}
        />
      </Card>
      <Latest calls={asked.data?.usageFailures.latest ?? null} nameOf={nameOf} />
    </>
  );
}

function Why({ failed }: { failed: WhatFailed }) {
  const { outcome, reason } = failed;
  const isAdmin = useIsAdmin();
  const way = isAdmin ? wayOut(failed) : null;
  return (
    <>
      <div>
        <Tag mood={outcome === 'FAILED' ? 'bad' : 'warn'}>{outcome === 'FAILED' ? 'Failed' : 'Refused'}</Tag>{' '}
        {failureWords(failed)}
      </div>
      <span className="small quiet">
        {reason !== null && <code>{reason}</code>} {way !== null && <Link href={way.href}>{way.name}</Link>}
      </span>
    </>
  );
}

function Latest({ calls, nameOf }: { calls: readonly FailedCall[] | null; nameOf: FailuresProps['nameOf'] }) {
  if (calls === null || calls.length === 0) return null;
  return (
    <Card title="The latest of them">
      <List
        label="Latest failures"
        rows={calls.slice(0, 20)}
        keyOf={({ id }) => id}
        empty={null}
        columns={[
          { name: 'When', show: ({ startedAt }) => <Moment at={startedAt} /> },
          { name: 'Why', show: (call) => failureWords(call) },
          { name: 'Model', show: ({ alias }) => <span className="mono">{alias ?? '—'}</span> },
          {
            name: 'Key',
            show: ({ keyId }) =>
              keyId === null ? 'the platform' : nameOf({ day: null, alias: null, keyId }),
          },
          { name: 'Request id', show: ({ requestId }) => <span className="mono">{requestId}</span> },
        ]}
      />
    </Card>
  );
}
