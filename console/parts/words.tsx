import { Fragment, type ReactNode } from 'react';
import { credits, day, exact, relative } from './format.ts';

export * from './format.ts';

/** Shows a relative time; the exact one is shown on hover and is in `dateTime`. */
export function Moment({ at, never = 'never' }: { at: string | null; never?: string }) {
  if (at === null) return <span className="quiet">{never}</span>;
  return (
    <time dateTime={at} title={exact(at)}>
      {relative(at, Date.now())}
    </time>
  );
}

/** The day, which stays right on paper and in a conversation; the exact time is shown on hover. */
export function Day({ at }: { at: string | null }) {
  if (at === null) return <span className="nil">—</span>;
  return (
    <time dateTime={at} title={exact(at)}>
      {day(at)}
    </time>
  );
}

/** Micro-credits. */
const MOST_DECIMALS = 6;

/** An amount in a column of a list: the points are below each other, whatever number of decimals the amounts have. */
export function Credits({ of, signed = false }: { of: number; signed?: boolean }) {
  const text = of === 0 ? '0' : `${signed && of > 0 ? '+' : ''}${credits(of)}`;
  const decimals = text.split('.')[1] ?? '';
  const padding = `${decimals === '' ? '.' : ''}${'0'.repeat(MOST_DECIMALS - decimals.length)}`;
  return (
    <span className={of === 0 ? 'aligned nil' : 'aligned'} data-padding={padding}>
      {text}
    </span>
  );
}

const SHORT_MODEL = 26;

/** A model's name, which is wrapped only if it is long. */
export function ModelName({ name }: { name: string }) {
  return <span className={name.length <= SHORT_MODEL ? 'unbroken' : undefined}>{name}</span>;
}

/** A long word that may be wrapped after each part: a code after “_”, an address after “@”. */
export function Breakable({ text, after }: { text: string; after: '_' | '@' }): ReactNode {
  return text.split(after).map((part, at, parts) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text, which have no state
    <Fragment key={at}>
      {part}
      {at < parts.length - 1 && after}
      <wbr />
    </Fragment>
  ));
}
