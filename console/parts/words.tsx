import { exact, relative } from './format.ts';

export * from './format.ts';

/** Relative to read, exact on hover and for machines. */
export function Moment({ at, never = 'never' }: { at: string | null; never?: string }) {
  if (at === null) return <span className="quiet">{never}</span>;
  return (
    <time dateTime={at} title={exact(at)}>
      {relative(at, Date.now())}
    </time>
  );
}
