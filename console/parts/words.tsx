import { Fragment, type ReactNode } from 'react';
import { exact, relative } from './format.ts';

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
