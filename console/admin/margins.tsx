import { useMemo } from 'react';
import { useFilters } from '../operations/filters.tsx';
import { Chart } from '../parts/chart.tsx';
import { saveCsv } from '../parts/files.ts';
import { Choice } from '../parts/form.tsx';
import { type Column, List, Nil } from '../parts/list.tsx';
import { Card, Figure, Page } from '../parts/page.tsx';
import { count, credits, roundedCredits } from '../parts/words.tsx';
import { type DataOf, graphql } from '../session/graphql.ts';
import { useQuery } from '../session/use-query.ts';
import { PriceWarnings } from './price-warnings.tsx';

const MARGINS = graphql(`query($from: DateTime, $to: DateTime, $groupBy: MarginGroup!) {
  margins(from: $from, to: $to, groupBy: $groupBy) {
    totals { calls cost revenue margin marginPercent }
    rows { key name totals { calls cost revenue margin marginPercent } }
    callsWithoutCost revenueWithoutCost unpricedCalls unpricedTokens
  }
}`);
const WARNINGS = graphql(`{ modelAliases { alias priceWarnings } }`);
const GROUPS = { MODEL: 'Model', PROVIDER: 'Provider', COMPANY: 'Company' } as const;
const SPANS = ['7', '30', '90'] as const;
const DAY_MS = 86_400_000;

type Group = keyof typeof GROUPS;
type MarginData = DataOf<typeof MARGINS>['margins'];
type MarginRow = MarginData['rows'][number];

export function Margins() {
  const { setFilter, oneOf } = useFilters();
  const span = Number(oneOf('days', SPANS) ?? '30');
  const group = oneOf('by', Object.keys(GROUPS) as Group[]) ?? 'MODEL';
  const days = useMemo(() => daysUntilToday(span, Date.now()), [span]);
  const [from, to] = [days[0] ?? '', days.at(-1) ?? ''];
  const daily = useQuery(MARGINS, { from, to, groupBy: 'DAY' });
  const grouped = useQuery(MARGINS, { from, to, groupBy: group });
  const warned = useQuery(WARNINGS);
  const rows = grouped.data?.margins.rows ?? null;
  return (
    <Page
      title="Margins"
      says="Provider costs, charges and margin of calls whose target has a cost."
      actions={
        <Choice label="Time" value={span} onChange={(event) => setFilter('days', event.target.value)}>
          {SPANS.map((days) => (
            <option key={days} value={days}>
              {days} days
            </option>
          ))}
        </Choice>
      }
    >
      <PriceWarnings aliases={warned.data?.modelAliases} />
      <Totals margins={daily.isStale ? undefined : daily.data?.margins} />
      <Card title="Cost and revenue by day">
        <div aria-busy={daily.isStale}>
          <DailyChart days={days} rows={daily.data?.margins.rows ?? []} />
        </div>
      </Card>
      <Card
        title="Breakdown"
        actions={
          <button
            type="button"
            className="little"
            disabled={rows === null || grouped.isStale}
            onClick={() => saveMargins(rows ?? [], group)}
          >
            Download CSV
          </button>
        }
      >
        <Choice label="By" value={group} onChange={(event) => setFilter('by', event.target.value)}>
          {Object.entries(GROUPS).map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </Choice>
        <List
          label="Margins in detail"
          rows={rows}
          isStale={grouped.isStale}
          error={grouped.error ?? daily.error}
          retry={grouped.reload}
          keyOf={({ key }) => key}
          nothing="No costs in this time"
          empty={<p>No call in this time has a cost. Set the cost of your targets under Models.</p>}
          columns={[{ name: GROUPS[group], show: ({ name }) => name }, ...COLUMNS]}
        />
      </Card>
    </Page>
  );
}

function Totals({ margins }: { margins: MarginData | undefined }) {
  const totals = margins?.totals;
  return (
    <div className="columns">
      <Amount name="Cost" of={totals?.cost} says="credits" />
      <Amount name="Revenue" of={totals?.revenue} says="credits" />
      <Amount name="Margin" of={totals?.margin} says={percent(totals?.marginPercent ?? null)} />
      <Figure
        name="Without a cost"
        value={margins === undefined ? '…' : count(margins.callsWithoutCost)}
        says={margins === undefined ? '' : withoutCost(margins)}
      />
      <Figure
        name="Cost not fully known"
        value={margins === undefined ? '…' : count(margins.unpricedCalls)}
        says={margins === undefined ? '' : unpriced(margins)}
      />
    </div>
  );
}

/** Of credits; undefined while it is loading. */
function Amount({ name, of, says }: { name: string; of: number | undefined; says: string }) {
  if (of === undefined) return <Figure name={name} value="…" says={says} />;
  return <Figure name={name} value={roundedCredits(of)} exact={credits(of)} says={says} />;
}

function withoutCost({ callsWithoutCost: calls, revenueWithoutCost: revenue }: MarginData): string {
  return `${calls === 1 ? 'call' : 'calls'}, ${roundedCredits(revenue)} credits`;
}

/** The provider reported something that no price covers. */
function unpriced({ unpricedCalls: calls, unpricedTokens: tokens }: MarginData): string {
  return `${calls === 1 ? 'call' : 'calls'}, ${count(tokens)} tokens`;
}

const COLUMNS: readonly Column<MarginRow>[] = [
  { name: 'Calls', isNumber: true, show: ({ totals }) => count(totals.calls) },
  { name: 'Cost', isNumber: true, show: ({ totals }) => credits(totals.cost) },
  { name: 'Revenue', isNumber: true, show: ({ totals }) => credits(totals.revenue) },
  { name: 'Margin', isNumber: true, show: ({ totals }) => credits(totals.margin) },
  {
    name: 'Of revenue',
    isNumber: true,
    show: ({ totals }) => (totals.marginPercent === null ? <Nil /> : percent(totals.marginPercent)),
  },
];

function DailyChart({ days, rows }: { days: readonly string[]; rows: readonly MarginRow[] }) {
  const series = useMemo(() => {
    const found = new Map(rows.map(({ key, totals }) => [key, totals]));
    return [
      { name: 'Revenue', colour: '--good', values: days.map((day) => found.get(day)?.revenue ?? 0) },
      { name: 'Cost', colour: '--bad', values: days.map((day) => found.get(day)?.cost ?? 0) },
    ] as const;
  }, [days, rows]);
  return <Chart label="Cost and revenue by day, in credits" days={days} series={series} />;
}

function daysUntilToday(span: number, nowMs: number): readonly string[] {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS;
  return Array.from({ length: span }, (_, at) =>
    new Date(today - (span - 1 - at) * DAY_MS).toISOString().slice(0, 10),
  );
}

function percent(value: number | null): string {
  return value === null ? '' : `${value}%`;
}

function saveMargins(rows: readonly MarginRow[], group: Group): void {
  const lines = rows.map(({ name, totals: { calls, cost, revenue, margin, marginPercent } }) => [
    ...[name, calls, cost, revenue, margin],
    marginPercent ?? '',
  ]);
  const head = [GROUPS[group], 'Calls', 'Cost', 'Revenue', 'Margin', 'Percent of revenue'];
  saveCsv(`margins-${group.toLowerCase()}.csv`, head, lines);
}
