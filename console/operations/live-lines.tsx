import { createClient } from 'graphql-ws';
import { useEffect, useRef, useState } from 'react';
import { objectIn } from '../parts/json.ts';
import { Notice, Tag } from '../parts/page.tsx';
import { useConsole } from '../session/console-context.ts';
import { type DataOf, graphql, textOf, type Variables } from '../session/graphql.ts';
import { LEVEL_MOODS } from './log-lines.tsx';

const LOG_STREAM =
  graphql(`subscription($minLevel: LogLevel, $contains: String, $service: String, $requestId: String, $companyId: ID) {
  logStream(minLevel: $minLevel, contains: $contains, service: $service, requestId: $requestId, companyId: $companyId,
    announced: true) { timestamp level message context } }`);
const KEPT_LINES = 500;

type Line = DataOf<typeof LOG_STREAM>['logStream'] & { readonly number: number };
type LiveFilter = Variables<typeof LOG_STREAM>;

/** Lines that all processes log from now on, if they match the filter. */
export function LiveLines({ filter }: { filter: LiveFilter }) {
  const [isPaused, setPaused] = useState(false);
  const { lines, status, clear } = useLines(filter, isPaused);
  const box = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: follows each new line
  useEffect(() => {
    if (!isPaused) box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [lines, isPaused]);
  return (
    <>
      <div className="row">
        <button type="button" aria-pressed={isPaused} onClick={() => setPaused(!isPaused)}>
          {isPaused ? 'Follow' : 'Pause'}
        </button>
        <button type="button" onClick={clear}>
          Clear
        </button>
        <Tag mood={status === 'connected' ? 'good' : 'warn'}>{isPaused ? 'paused' : status}</Tag>
      </div>
      {status === 'refused' && (
        <Notice mood="bad">The log may not be watched with this account any more.</Notice>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section className="lines" ref={box} tabIndex={0} aria-label="Lines of the log">
        {lines.length === 0 && <p className="quiet">Nothing yet. Make a call, and its lines appear.</p>}
        {lines.map((line) => (
          <div key={line.number}>
            <span className="quiet">{line.timestamp.slice(11, 23)}</span>{' '}
            <Tag mood={LEVEL_MOODS[line.level]}>{line.level}</Tag> {line.message}{' '}
            <span className="quiet">{line.context == null ? '' : JSON.stringify(line.context)}</span>
          </div>
        ))}
      </section>
    </>
  );
}

/** The latest lines. A pause keeps those shown; lines logged during the pause are not shown. */
function useLines(filter: LiveFilter, isPaused: boolean) {
  const { session } = useConsole();
  const [lines, setLines] = useState<readonly Line[]>([]);
  const [status, setStatus] = useState('connecting');
  const counter = useRef(0);
  // Compared as text, so that an equal filter is not a change.
  const given = JSON.stringify(filter);
  useEffect(() => {
    if (isPaused) return;
    setStatus('connecting');
    const client = createClient({
      url: `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/graphql`,
      connectionParams: async () => ({ Authorization: `Bearer ${(await session.token()) ?? ''}` }),
      retryAttempts: Number.POSITIVE_INFINITY,
      shouldRetry: () => true,
      on: { closed: () => setStatus('connecting') },
    });
    const stop = client.subscribe<DataOf<typeof LOG_STREAM>>(
      { query: textOf(LOG_STREAM), variables: JSON.parse(given) },
      {
        next: ({ data }) => {
          if (data == null) return;
          // The first message of each subscription: no line is missed after it.
          if (objectIn(data.logStream.context).watching === true) return setStatus('connected');
          counter.current += 1;
          const line = { ...data.logStream, number: counter.current };
          setLines((now) => [...now.slice(1 - KEPT_LINES), line]);
        },
        error: () => setStatus('refused'),
        complete: () => undefined,
      },
    );
    return () => {
      stop();
      void client.dispose();
    };
  }, [session, given, isPaused]);
  return { lines, status, clear: () => setLines([]) };
}
