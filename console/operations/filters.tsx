import { type ChangeEvent, type KeyboardEvent, useCallback, useEffect, useRef, useState } from 'react';
import { useSearchParams } from 'wouter';
import { Choice, Field } from '../parts/form.tsx';
import { useSettled } from '../session/use-query.ts';

const USUAL_HOURS = 24;
const LONGEST_SEARCH = 200;
const SPANS = [
  [1, 'The last hour'],
  [6, 'The last 6 hours'],
  [24, 'The last day'],
  [168, 'The last week'],
] as const;

/** The filters of a page are in its URL, so that a view can be shared with a colleague. */
export function useFilters() {
  const [filters, setSearch] = useSearchParams();
  /** An empty value removes the filter. */
  const setFilters = (values: Readonly<Record<string, string>>, isTyped = false) =>
    setSearch(
      (now) => {
        const next = new URLSearchParams(now);
        for (const [name, value] of Object.entries(values)) {
          if (value === '') next.delete(name);
          else next.set(name, value);
        }
        return next;
      },
      // One history entry for a typed word, not one per letter.
      { replace: isTyped },
    );
  const { waiting, type, apply } = useTyped((values) => setFilters(values, true));
  return {
    filter: (name: string) => filters.get(name) ?? '',
    hours: SPANS.find(([hours]) => String(hours) === filters.get('hours'))?.[0] ?? USUAL_HOURS,
    setFilter: (name: string, value: string) => setFilters({ [name]: value }),
    setFilters,
    /** The days of `PeriodFields` as times: from the start of the first day to the end of the last. */
    period: () => {
      const [from, to] = [dayIn(filters.get('from'), 0), dayIn(filters.get('to'), 1)];
      return { ...(from === null ? {} : { from }), ...(to === null ? {} : { to }) };
    },
    /** Props for a search field. What is typed becomes a filter once the typing has paused, or with Enter. */
    typed: (name: string) => ({
      type: 'search',
      maxLength: LONGEST_SEARCH,
      value: waiting[name] ?? filters.get(name) ?? '',
      onChange: (event: ChangeEvent<HTMLInputElement>) => type(name, event.target.value),
      onKeyDown: ({ key }: KeyboardEvent) => key === 'Enter' && apply(),
    }),
    /** The value if it is one of these; anything may be typed into the URL. */
    oneOf: <Value extends string>(name: string, values: readonly Value[]) =>
      values.find((value) => value === filters.get(name)),
  };
}

const NOTHING: Readonly<Record<string, string>> = {};

/** Values that were typed and are not applied yet. */
function useTyped(set: (values: Readonly<Record<string, string>>) => void) {
  const [waiting, setWaiting] = useState(NOTHING);
  const latest = useRef({ set, waiting });
  latest.current = { set, waiting };
  const apply = useCallback(() => {
    const { waiting: values } = latest.current;
    if (values === NOTHING) return;
    latest.current.set(values);
    setWaiting(NOTHING);
  }, []);
  const settled = useSettled(waiting);
  useEffect(() => {
    if (settled === latest.current.waiting) apply();
  }, [settled, apply]);
  return {
    waiting,
    type: (name: string, value: string) => setWaiting((now) => ({ ...now, [name]: value })),
    apply,
  };
}

/** Two days, in the browser's time zone. */
export function PeriodFields({
  filter,
  setFilters,
}: Pick<ReturnType<typeof useFilters>, 'filter' | 'setFilters'>) {
  // One history entry for a date, not one per digit of its year.
  const isEdited = useRef(false);
  return (['from', 'to'] as const).map((name) => (
    <Field
      key={name}
      label={name === 'from' ? 'From' : 'Until'}
      type="date"
      value={filter(name)}
      onFocus={() => {
        isEdited.current = false;
      }}
      onChange={(event) => {
        setFilters({ [name]: event.target.value }, isEdited.current);
        isEdited.current = true;
      }}
    />
  ));
}

/**
 * The start of a day, or of the day `later` days after it; null if the text is not a day. While a year is typed, the
 * field has the years 0002, 0020 and 0202.
 */
function dayIn(text: string | null, later: number): string | null {
  const parts = /^([1-9]\d{3})-(\d\d)-(\d\d)$/.exec(text ?? '');
  if (parts === null) return null;
  const [year, month, day] = parts.slice(1).map(Number) as [number, number, number];
  const at = new Date(year, month - 1, day + later);
  return Number.isNaN(at.getTime()) ? null : at.toISOString();
}

export function HoursChoice({ hours, change }: { hours: number; change(hours: number): void }) {
  return (
    <Choice label="Time" value={String(hours)} onChange={(event) => change(Number(event.target.value))}>
      {SPANS.map(([value, name]) => (
        <option key={value} value={value}>
          {name}
        </option>
      ))}
    </Choice>
  );
}
