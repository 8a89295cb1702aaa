import { createContext, type ReactNode, use, useEffect, useMemo, useRef, useState } from 'react';
import { textIn } from '../../parts/json.ts';
import { Card, Empty } from '../../parts/page.tsx';
import { type Evidence, piecesOf, placed } from './talent-profile.ts';

interface Tracing {
  readonly chosen: string | null;
  has(path: string): boolean;
  choose(path: string): void;
}

const TracingContext = createContext<Tracing>({ chosen: null, has: () => false, choose: () => undefined });

/** Lets its children locate their values in the text. */
export function Traces({ evidence, children }: { evidence: readonly Evidence[]; children: ReactNode }) {
  const [chosen, setChosen] = useState<string | null>(null);
  const paths = useMemo(() => new Set(evidence.map(({ path }) => path)), [evidence]);
  return (
    <TracingContext value={{ chosen, has: (path) => paths.has(path), choose: setChosen }}>
      {children}
    </TracingContext>
  );
}

/** A value. If it was found in the text, it is a button that leads to its place. */
export function Value({ path, of }: { path: string; of: unknown }) {
  const { chosen, has, choose } = use(TracingContext);
  const text = textIn(of);
  if (text === '') return null;
  if (!has(path)) return text;
  return (
    <button
      type="button"
      className="traced"
      title="Show it in the CV"
      aria-pressed={chosen === path}
      onClick={() => choose(path)}
    >
      {text}
    </button>
  );
}

/** The text that was read, with the evidence of every value marked; the chosen mark is scrolled into view. */
export function SourceText({ text, evidence }: { text: string | null; evidence: readonly Evidence[] }) {
  const { chosen } = use(TracingContext);
  const place = useRef<HTMLElement>(null);
  const pieces = useMemo(() => (text === null ? [] : piecesOf(text, evidence)), [text, evidence]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another choice is another mark
  useEffect(() => {
    place.current?.scrollIntoView({ block: 'center', inline: 'nearest' });
  }, [chosen]);
  const first = pieces.findIndex(({ paths }) => chosen !== null && paths.includes(chosen));
  return (
    <div className="source">
      <Card title="The CV as it was read">
        {text === null ? (
          <Empty title="There is no text">The profile was typed in, not read out of a document.</Empty>
        ) : (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
          <section className="source-text" tabIndex={0} aria-label="Text of the CV">
            {placed(pieces).map(({ entry: { text: piece, paths }, at }) => {
              if (paths.length === 0) return <span key={at}>{piece}</span>;
              const isChosen = chosen !== null && paths.includes(chosen);
              return (
                <mark key={at} ref={at === first ? place : null} data-chosen={isChosen}>
                  {piece}
                </mark>
              );
            })}
          </section>
        )}
        {evidence.length > 0 && (
          <p className="quiet small">
            Marked is what became part of the profile. Click a value with a dotted line to see where it came
            from.
          </p>
        )}
      </Card>
    </div>
  );
}
