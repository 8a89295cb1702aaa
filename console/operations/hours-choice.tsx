import { Choice } from '../parts/form.tsx';

const SPANS = [
  [1, 'The last hour'],
  [6, 'The last 6 hours'],
  [24, 'The last day'],
  [168, 'The last week'],
] as const;

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
