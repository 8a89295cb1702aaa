import { Link } from 'wouter';
import { useFilters } from '../../operations/filters.tsx';
import { CEILING_NAMES, CeilingUse } from '../../parts/ceilings.tsx';
import { saveCsv } from '../../parts/files.ts';
import { Choice } from '../../parts/form.tsx';
import { type Column, List } from '../../parts/list.tsx';
import { Bones, Card, Figure, InOrder, Page } from '../../parts/page.tsx';
import { Credits, count, credits, ModelName, roundedCredits } from '../../parts/words.tsx';
import { useIsAdmin } from '../../session/console-context.ts';
import { graphql } from '../../session/graphql.ts';
import { useKeyNames } from '../../session/object-names.ts';
import { useQuery } from '../../session/use-query.ts';
import { Failures } from './failures.tsx';
import { Spend } from './spend-chart.tsx';
import { daysOf, dearestFirst, USAGE, type UsageRow } from './usage-data.ts';

const CEILINGS = graphql(`{ company { ceilings {
  requestsPerMinute tokensPerMinute callsInFlight documentsPerDay storageMegabytes apiKeys members
  use { requestsPerMinute tokensPerMinute callsInFlight documentsPerDay storageMegabytes apiKeys members } } } }`);
const LOOK_EVERY_MS = 5_000;
const GROUPS = {
  DAY: 'Day',
  ALIAS: 'Model',
  KEY: 'Key',
  PROJECT: 'Project',
  END_USER: 'End user',
  TAG: 'Tag',
} as const;

/** By their names in the URL. */
const SPANS = [
  ['today', 'Today (UTC)'],
  ['yesterday', 'Yesterday (UTC)'],
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
] as const;

type Group = keyof typeof GROUPS;

export function Usage() {
  const { filter, setFilter, oneOf } = useFilters();
  const span =
    oneOf(
      'days',
      SPANS.map(([value]) => value),
    ) ?? '30';
  const group = groupIn(filter('by'));
  const { from, to } = daysOf(span, Date.now());
  const keyName = useKeyNames();
  const daily = useQuery(USAGE, { from, to, groupBy: ['DAY'] }, LOOK_EVERY_MS);
  const grouped = useQuery(USAGE, { from, to, groupBy: [group] }, LOOK_EVERY_MS);
  const nameOf = (row: Named) =>
    row.day ??
    row.alias ??
    row.project ??
    row.endUser ??
    row.tag ??
    (row.keyId === null ? '—' : keyName(row.keyId));
  const rows = grouped.data === null ? null : dearestFirst(grouped.data.usage.rows);
  const save = () => saveUsage(rows ?? [], group, nameOf);
  return (
    <Page
      title="Usage"
      says="What your keys have used. A call is included as soon as its response has ended; failed calls cost nothing."
      actions={<TimeChoice value={span} choose={(days) => setFilter('days', days)} />}
    >
      <Totals totals={daily.isStale ? undefined : daily.data?.usage.totals} />
      <InOrder>
        <Ceilings />
        {from !== to && <Spend {...{ daily, grouped, group, from, to, nameOf }} />}
        <Card
          title="Breakdown"
          actions={
            <button
              type="button"
              className="little"
              disabled={rows === null || grouped.isStale}
              onClick={save}
            >
              Download CSV
            </button>
          }
        >
          <Choice
            label="Group by"
            value={group}
            onChange={(event) => setFilter('by', event.target.value.toLowerCase())}
          >
            <Options of={Object.entries(GROUPS)} />
          </Choice>
          {WITHOUT[group] !== undefined && <p className="quiet">{WITHOUT[group]}</p>}
          <List
            label="Usage in detail"
            rows={rows}
            isStale={grouped.isStale}
            error={grouped.error}
            retry={grouped.reload}
            keyOf={(row) => row.keyId ?? nameOf(row)}
            nothing="No calls in this time"
            empty={<NoCalls />}
            columns={columns(group, nameOf, rows ?? [])}
          />
        </Card>
        <Failures from={from} to={to} nameOf={nameOf} />
      </InOrder>
    </Page>
  );
}

function TimeChoice({ value, choose }: { value: string; choose(days: string): void }) {
  return (
    <Choice label="Time" value={value} onChange={(event) => choose(event.target.value)}>
      <Options of={SPANS} />
    </Choice>
  );
}

function Options({ of }: { of: readonly (readonly [value: string, name: string])[] }) {
  return of.map(([value, name]) => (
    <option key={value} value={value}>
      {name}
    </option>
  ));
}

function Totals({ totals }: { readonly totals: UsageRow['totals'] | undefined }) {
  return (
    <div className="columns">
      <Figure
        name="Spent"
        value={totals === undefined ? '…' : roundedCredits(totals.credits)}
        exact={totals === undefined ? undefined : credits(totals.credits)}
        says="credits"
      />
      <Figure name="Calls" value={totals === undefined ? '…' : count(totals.calls)} />
      <Figure name="Failures" value={totals === undefined ? '…' : count(totals.failures)} />
      <Figure
        name="Tokens"
        value={totals === undefined ? '…' : count(totals.promptTokens + totals.completionTokens)}
        says={`${totals === undefined ? '…' : count(totals.cachedTokens)} of them from a cache`}
      />
    </div>
  );
}

type Named = Pick<UsageRow, 'day' | 'alias' | 'keyId'> &
  Partial<Pick<UsageRow, 'project' | 'endUser' | 'tag'>>;

function groupIn(given: string): Group {
  const group = given.toUpperCase();
  return group in GROUPS ? (group as Group) : 'ALIAS';
}

/** Which calls are in no row. A call with several tags is in several rows. */
const WITHOUT: Partial<Record<Group, string>> = {
  PROJECT: 'Calls of keys without a project are not listed.',
  END_USER: 'Calls without an end user are not listed.',
  TAG: 'Calls without a tag are not listed; a call with several tags is listed under each.',
};

/** Columns that few need are there only if a row has a value for them. */
function columns(
  group: Group,
  nameOf: (row: UsageRow) => string,
  rows: readonly UsageRow[],
): readonly Column<UsageRow>[] {
  const when = (is: boolean, column: Column<UsageRow>) => (is ? [column] : []);
  return [
    {
      name: GROUPS[group],
      show: (row) => (group === 'ALIAS' ? <ModelName name={nameOf(row)} /> : nameOf(row)),
    },
    { name: 'Calls', isNumber: true, show: ({ totals }) => count(totals.calls) },
    { name: 'Failures', isNumber: true, show: ({ totals }) => count(totals.failures) },
    { name: 'Prompt tokens', isNumber: true, show: ({ totals }) => count(totals.promptTokens) },
    { name: 'Cached', isNumber: true, show: ({ totals }) => count(totals.cachedTokens) },
    ...when(
      rows.some(({ totals }) => totals.cacheWriteTokens > 0),
      { name: 'Cache writes', isNumber: true, show: ({ totals }) => count(totals.cacheWriteTokens) },
    ),
    { name: 'Completion tokens', isNumber: true, show: ({ totals }) => count(totals.completionTokens) },
    { name: 'Credits', isNumber: true, show: ({ totals }) => <Credits of={totals.credits} /> },
    ...when(
      rows.some(({ totals }) => totals.toolCredits > 0),
      { name: 'Of it for tools', isNumber: true, show: ({ totals }) => <Credits of={totals.toolCredits} /> },
    ),
  ];
}

function saveUsage(rows: readonly UsageRow[], group: Group, nameOf: (row: UsageRow) => string): void {
  const numbers = [
    'Calls',
    'Failures',
    'Prompt tokens',
    'Cached tokens',
    'Cache write tokens',
    'Completion tokens',
    'Credits',
    'Credits for tools',
  ];
  const lines = rows.map((row) => {
    const { calls, failures, promptTokens, cachedTokens, cacheWriteTokens, completionTokens } = row.totals;
    return [
      nameOf(row),
      calls,
      failures,
      promptTokens,
      cachedTokens,
      cacheWriteTokens,
      completionTokens,
      row.totals.credits,
      row.totals.toolCredits,
    ];
  });
  saveCsv(`usage-${group.toLowerCase()}.csv`, [GROUPS[group], ...numbers], lines);
}

/** Shown only if the operator has set a ceiling. */
function Ceilings() {
  const { data, error } = useQuery(CEILINGS, {}, LOOK_EVERY_MS);
  const ceilings = data?.company.ceilings;
  if (ceilings === undefined && error === null) return <Bones lines={1} />;
  if (ceilings === undefined || CEILING_NAMES.every((name) => ceilings[name] === null)) return null;
  return (
    <Card title="Ceilings">
      <p className="quiet">The limits of your company. Ask the operator to change them.</p>
      <CeilingUse ceilings={ceilings} />
    </Card>
  );
}

function NoCalls() {
  if (!useIsAdmin()) return <p>Ask an admin of your company for an API key to make one.</p>;
  return (
    <p>
      Make one with <Link href="/keys">an API key</Link>, or in the <Link href="/playground">playground</Link>
      .
    </p>
  );
}
