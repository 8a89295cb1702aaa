import { createClient } from 'graphql-ws';
import { useEffect, useRef, useState } from 'react';
import { Choice, Field } from '../parts/form.tsx';
import { objectIn } from '../parts/json.ts';
import { type Mood, Notice, Page, Tag } from '../parts/page.tsx';
import { useConsole } from '../session/console-context.ts';
import { type DataOf, graphql, textOf } from '../session/graphql.ts';

const LOG_STREAM = graphql(`subscription($minLevel: LogLevel, $contains: String) {
  logStream(minLevel: $minLevel, contains: $contains, announced: true) { timestamp level message context } }`);
const MOODS: Record<Line['level'], Mood> = { DEBUG: 'plain', INFO: 'plain', WARN: 'warn', ERROR: 'bad' };
const KEPT_LINES = 500;

type Entry = DataOf<typeof LOG_STREAM>['logStream'];
type Line = Entry & { readonly number: number };

export function LiveLogs() {
  const [minLevel, setMinLevel] = useState('INFO');
  const [contains, setContains] = useState('');
  const [isPaused, setPaused] = useState(false);
  const { lines, status, clear } = useLines(minLevel, contains, isPaused);
  const box = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: follows each new line
  useEffect(() => {
    if (!isPaused) box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [lines, isPaused]);
  return (
    <Page
      title="Live logs"
      says="What all processes log, as it happens. Secrets are taken out before a line is made."
    >
      <div className="columns">
        <Choice label="At least" value={minLevel} onChange={(event) => setMinLevel(event.target.value)}>
          {Object.keys(MOODS).map((level) => (
            <option key={level}>{level}</option>
          ))}
        </Choice>
        <Field
          label="With the text"
          type="search"
          value={contains}
          onChange={(event) => setContains(event.target.value)}
        />
      </div>
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
            <Tag mood={MOODS[line.level]}>{line.level}</Tag> {line.message}{' '}
            <span className="quiet">{line.context == null ? '' : JSON.stringify(line.context)}</span>
          </div>
        ))}
      </section>
    </Page>
  );
}

/** The last lines while it follows; a pause keeps what is seen and what comes is not shown. */
function useLines(minLevel: string, contains: string, isPaused: boolean) {
  const { session } = useConsole();
  const [lines, setLines] = useState<readonly Line[]>([]);
  const [status, setStatus] = useState('connecting');
  const counter = useRef(0);
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
    const variables = { minLevel, ...(contains === '' ? {} : { contains }) };
    const stop = client.subscribe<DataOf<typeof LOG_STREAM>>(
      { query: textOf(LOG_STREAM), variables },
      {
        next: ({ data }) => {
          if (data == null) return;
          // The first line of each subscription: from now on nothing is missed.
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
  }, [session, minLevel, contains, isPaused]);
  return { lines, status, clear: () => setLines([]) };
}
