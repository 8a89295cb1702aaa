import { count } from '../parts/words.tsx';

/** Nothing to see: it keeps its place in a table, and is left out on a narrow screen. */
export function Nil({ text = '—' }: { text?: string }) {
  return <span className="nil">{text}</span>;
}

export function Amount({ of }: { of: number }) {
  return of === 0 ? <Nil text="0" /> : count(of);
}
