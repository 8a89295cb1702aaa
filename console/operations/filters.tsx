import { useSearchParams } from 'wouter';
import { Choice } from '../parts/form.tsx';

const USUAL_HOURS = 24;
const SPANS = [
  [1, 'The last hour'],
  [6, 'The last 6 hours'],
  [24, 'The last day'],
  [168, 'The last week'],
] as const;

/** The filters of a page are in its address, so that what one sees can be sent to a colleague. */
export function useFilters() {
  const [filters, setSearch] = useSearchParams();
  /** An empty value takes the filter out. */
  const setFilters = (values: Readonly<Record<string, string>>) =>
    setSearch((now) => {
      const next = new URLSearchParams(now);
      for (const [name, value] of Object.entries(values)) {
        if (value === '') next.delete(name);
        else next.set(name, value);
      }
      return next;
    });
  return {
    filter: (name: string) => filters.get(name) ?? '',
    hours: Number(filters.get('hours') ?? USUAL_HOURS),
    setFilter: (name: string, value: string) => setFilters({ [name]: value }),
    setFilters,
  };
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
