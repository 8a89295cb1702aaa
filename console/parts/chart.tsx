import { useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';

export interface Series {
  readonly name: string;
  readonly colour: '--accent' | '--good' | '--bad' | `--series-${number}`;
  /** One for each day, or none while they are being loaded. */
  readonly values: readonly number[];
}

const HEIGHT_PX = 190;
/** Short enough for the axis: 1.2M. */
const upForm = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });
const valueForm = new Intl.NumberFormat('en', { maximumFractionDigits: 6 });
const dayForm = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', timeZone: 'UTC' });

/** Days on the horizontal axis, values on the vertical one. The table below has the same data. */
export function Chart({
  label,
  days,
  series,
}: {
  label: string;
  days: readonly string[];
  series: readonly Series[];
}) {
  const place = useRef<HTMLDivElement>(null);
  const isDark = useDark();
  // Compared as text: pages refresh every few seconds, and a redrawn chart loses what the pointer shows.
  const drawn = JSON.stringify([days, series]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the text has the values, and another colour scheme other colours
  useEffect(() => {
    const box = place.current;
    if (box === null) return;
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string) => resolved(box, style.getPropertyValue(name));
    const axis = {
      stroke: colour('--quiet'),
      grid: { stroke: colour('--line'), width: 1 },
      ticks: { show: false },
    };
    const across = {
      ...axis,
      size: 34,
      values: (_: uPlot, splits: number[]) => splits.map((one) => dayForm.format(one * 1_000)),
    };
    const up = {
      ...axis,
      size: 56,
      values: (_: uPlot, splits: number[]) => splits.map((one) => upForm.format(one)),
    };
    const options: uPlot.Options = {
      width: box.clientWidth,
      height: HEIGHT_PX,
      // Shows the values of the day under the pointer, next to their colours.
      legend: { show: true, live: true },
      cursor: { y: false },
      scales: { y: { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] } },
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1_000), 'Etc/UTC'),
      axes: [across, up],
      series: [
        { label: 'Day (UTC)', value: (_, at) => (at == null ? '—' : dayForm.format(at * 1_000)) },
        ...series.map((one) => ({
          label: one.name,
          value: (_: uPlot, value: number | null) => (value == null ? '—' : valueForm.format(value)),
          stroke: colour(one.colour),
          width: 2,
          points: { show: days.length < 2 },
        })),
      ],
    };
    const data = [
      days.map((day) => Date.parse(day) / 1_000),
      ...series.map(({ values }) => days.map((_, at) => values[at] ?? null)),
    ];
    const plot = new uPlot(options, data as uPlot.AlignedData, box);
    const watcher = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: HEIGHT_PX }));
    watcher.observe(box);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [drawn, isDark]);
  return (
    <div>
      <div
        className="chart"
        ref={place}
        role="img"
        aria-label={`${label}. The table below has its numbers.`}
      />
      <details>
        <summary>Numbers of this chart</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
        <section className="scroller" tabIndex={0} aria-label={`Numbers: ${label}`}>
          <table>
            <thead>
              <tr>
                <th scope="col">Day</th>
                {series.map(({ name }) => (
                  <th key={name} scope="col" className="right">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {days.map((day, at) => (
                <tr key={day}>
                  <td className="number">{day}</td>
                  {series.map(({ name, values }) => (
                    <td key={name} className="number right">
                      {valueForm.format(values[at] ?? 0)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </details>
    </div>
  );
}

/** A canvas does not support light-dark(), so the browser resolves the colour. */
function resolved(box: HTMLElement, colour: string): string {
  box.style.color = colour;
  const known = getComputedStyle(box).color;
  box.style.color = '';
  return known;
}

function useDark(): boolean {
  const query = '(prefers-color-scheme: dark)';
  const [isDark, setDark] = useState(() => matchMedia(query).matches);
  useEffect(() => {
    const list = matchMedia(query);
    const changed = () => setDark(list.matches);
    list.addEventListener('change', changed);
    return () => list.removeEventListener('change', changed);
  }, []);
  return isDark;
}
