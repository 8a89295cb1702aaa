import type { ReactNode } from 'react';

type Fact = readonly [name: string, value: ReactNode];

/** Names and values side by side; facts without a value are omitted. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  const known = facts.filter(
    ([, value]) => value !== null && value !== undefined && value !== false && value !== '',
  );
  if (known.length === 0) return null;
  return (
    <dl className="facts">
      {known.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Chips({ words, mood = '' }: { words: readonly ReactNode[]; mood?: '' | 'good' | 'warn' }) {
  if (words.length === 0) return null;
  return (
    <ul className="chips">
      {words.map((word, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: words may repeat, and nothing in them has a state
        <li key={at} className={mood}>
          {word}
        </li>
      ))}
    </ul>
  );
}

/** A score from 0 to 100 as a number and a bar. */
export function Score({ value }: { value: number }) {
  const width = `${Math.min(100, Math.max(0, value))}%`;
  return (
    <span className="score">
      <strong className="number">{Math.round(value)}</strong>
      <span className="score-bar" aria-hidden="true">
        <span style={{ width }} />
      </span>
    </span>
  );
}
