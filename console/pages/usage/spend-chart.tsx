import { useMemo } from 'react';
import { Chart, type Series } from '../../parts/chart.tsx';
import { Bones, Card, Problem } from '../../parts/page.tsx';
import { graphql } from '../../session/graphql.ts';
import { type QueryResult, useQuery } from '../../session/use-query.ts';
import { byDay, dearestByDay, type UsageData, type UsageRow } from './usage-data.ts';

const SPLIT = graphql(`query($from: DateTime, $to: DateTime, $groupBy: [UsageGroup!]) {
  usage(from: $from, to: $to, groupBy: $groupBy) { rows { day alias keyId project totals { credits } } } }`);
const LOOK_EVERY_MS = 60_000;
/** What a line can be drawn for; end users and tags may be too many to load by day. */
const CHARTED = ['ALIAS', 'KEY', 'PROJECT'] as const;
type Charted = (typeof CHARTED)[number];
const COLOURS = ['--series-1', '--series-2', '--series-3', '--series-4'] as const;
/** Names times days that are loaded at once. */
const MOST_POINTS = 10_000;

interface SpendProps {
  readonly daily: QueryResult<UsageData>;
  /** What the table below shows. */
  readonly grouped: QueryResult<UsageData>;
  readonly group: string;
  readonly from: string;
  readonly to: string;
  nameOf(row: Pick<UsageRow, 'day' | 'alias' | 'keyId' | 'project'>): string;
}

/** All credits by day, and those of the models, keys or projects that cost the most. */
export function Spend(props: SpendProps) {
  const { daily, grouped, group, from, to } = props;
  const rows = grouped.isStale ? null : (grouped.data?.usage.rows ?? null);
  // Its lines make the legend longer, which would move what is below.
  const isLoading = grouped.data === null && grouped.error === null;
  const total = useMemo(() => {
    const { days, series } = byDay(daily.data?.usage.rows ?? [], from, to);
    return {
      days,
      series: { name: 'Credits', colour: '--accent', values: series((one) => one.credits) } as const,
    };
  }, [daily.data, from, to]);
  const charted = CHARTED.find((one) => one === group);
  const isSplit =
    charted !== undefined &&
    rows !== null &&
    rows.length > 1 &&
    rows.length * total.days.length <= MOST_POINTS;
  return (
    <Card title="Spend by day">
      <Problem error={daily.error} retry={daily.reload} />
      {(daily.data === null ? daily.error === null : isLoading) && <Bones />}
      {daily.data !== null && !isLoading && (
        <div aria-busy={daily.isStale}>
          {isSplit ? (
            <SplitChart {...props} rows={rows} group={charted} total={total.series} days={total.days} />
          ) : (
            <Chart label="Credits spent by day" days={total.days} series={[total.series]} />
          )}
        </div>
      )}
    </Card>
  );
}

interface SplitProps extends Pick<SpendProps, 'from' | 'to' | 'nameOf'> {
  readonly rows: readonly UsageRow[];
  readonly group: Charted;
  readonly total: Series;
  readonly days: readonly string[];
}

function SplitChart({ rows, group, total, days, from, to, nameOf }: SplitProps) {
  const { data, isStale, error, reload } = useQuery(
    SPLIT,
    { from, to, groupBy: ['DAY', group] },
    LOOK_EVERY_MS,
  );
  const nameIn = (row: Pick<UsageRow, 'alias' | 'keyId' | 'project'>) => nameOf({ ...row, day: null });
  const named = <Row extends Pick<UsageRow, 'alias' | 'keyId' | 'project'>>(row: Row) => ({
    ...row,
    name: nameIn(row),
  });
  const isLoaded = data !== null && !isStale;
  const lines = isLoaded ? data.usage.rows : [];
  // Named in the legend from the beginning, which keeps its height, and drawn once they are loaded.
  const series = dearestByDay(rows.map(named), lines.map(named), days, COLOURS.length).map(
    ({ name, values }, at): Series => ({
      name,
      values: isLoaded ? values : [],
      colour: COLOURS[at] ?? '--accent',
    }),
  );
  return (
    <div aria-busy={!isLoaded && error === null}>
      <Problem error={error} retry={reload} />
      <Chart label="Credits spent by day" days={days} series={[total, ...series]} />
    </div>
  );
}
