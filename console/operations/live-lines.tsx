import { createClient } from 'graphql-ws';
import { memo, useEffect, useRef, useState } from 'react';
import { objectIn } from '../parts/json.ts';
import { Notice, Tag } from '../parts/page.tsx';
import { clockTime, exact } from '../parts/words.tsx';
import { useConsole } from '../session/console-context.ts';
import { type DataOf, graphql, textOf, type Variables } from '../session/graphql.ts';
import type { Session } from '../session/session.ts';
import { LEVEL_MOODS } from './log-lines.tsx';

const LOG_STREAM =
  graphql(`subscription($minLevel: LogLevel, $contains: String, $service: String, $requestId: String, $companyId: ID) {
  logStream(minLevel: $minLevel, contains: $contains, service: $service, requestId: $requestId, companyId: $companyId,
    announced: true) { timestamp level message context } }`);
const KEPT_LINES = 500;
/** Lines that arrive within this time are shown together: a render for each would block the page in a flood of them. */
const SHOW_EVERY_MS = 200;
/** Scrolled up by more than this, the user reads earlier lines and new ones do not move them. */
const NEAR_END_PX = 40;
const MOST_RETRY_MS = 10_000;
const PING_EVERY_MS = 15_000;
const PONG_WITHIN_MS = 10_000;

type LogLine = DataOf<typeof LOG_STREAM>['logStream'];
/** A period whose lines are not shown, because the stream was paused or the connection was lost. */
interface Gap {
  readonly why: 'paused' | 'lost';
  readonly from: number;
  readonly until: number;
}
type Line = (LogLine | Gap) & { readonly number: number };
type LiveFilter = Variables<typeof LOG_STREAM>;

/** Lines that all processes log from now on, if they match the filter. */
export function LiveLines({ filter }: { filter: LiveFilter }) {
  const [isPaused, setPaused] = useState(false);
  const { lines, status, clear } = useLines(filter, isPaused);
  const box = useRef<HTMLElement>(null);
  const isAtEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: follows each new line
  useEffect(() => {
    if (!isPaused && isAtEnd.current) box.current?.scrollTo({ top: box.current.scrollHeight });
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
      {status === 'refused' && <Notice mood="bad">This account no longer has access to the log.</Notice>}
      <section
        className="lines"
        ref={box}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        aria-label="Lines of the log"
        onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
          isAtEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_END_PX;
        }}
      >
        {lines.length === 0 && <p className="quiet">Nothing yet. Make a call, and its lines appear.</p>}
        {lines.map((line) => (
          <ShownLine key={line.number} line={line} />
        ))}
      </section>
    </>
  );
}

const ShownLine = memo(function ShownLine({ line }: { line: Line }) {
  if ('why' in line) return <ShownGap gap={line} />;
  return (
    <div>
      <time className="quiet" dateTime={line.timestamp} title={exact(line.timestamp)}>
        {clockTime(line.timestamp)}
      </time>{' '}
      <Tag mood={LEVEL_MOODS[line.level]}>{line.level}</Tag> {line.message}{' '}
      <span className="quiet">{line.context == null ? '' : JSON.stringify(line.context)}</span>
    </div>
  );
});

function ShownGap({ gap: { why, from, until } }: { gap: Gap }) {
  const [first, last] = [from, until].map((ms) => clockTime(new Date(ms).toISOString()));
  return (
    <div>
      <Tag mood="warn">gap</Tag> {why === 'paused' ? 'Paused' : 'The connection was lost'} from {first} to{' '}
      {last}: lines of this time are not shown here. Choose “Stored” to read them.
    </div>
  );
}

/**
 * The latest lines that match the filter; another filter starts anew. A pause keeps those shown. Lines logged during a
 * pause or without a connection are not shown, and a gap takes their place.
 */
function useLines(filter: LiveFilter, isPaused: boolean) {
  const { session } = useConsole();
  const [lines, setLines] = useState<readonly Line[]>([]);
  const [status, setStatus] = useState('connecting');
  const counter = useRef(0);
  const [gaps] = useState(() => createGaps(Date.now));
  // Compared as text, so that an equal filter is not a change.
  const given = JSON.stringify(filter);
  // biome-ignore lint/correctness/useExhaustiveDependencies: lines of another filter are not shown
  useEffect(() => {
    gaps.forget();
    setLines([]);
  }, [given, gaps]);
  useEffect(() => {
    if (isPaused) return;
    setStatus('connecting');
    let isOver = false;
    const batch = createBatch((fresh) => setLines((now) => [...now, ...fresh].slice(-KEPT_LINES)));
    const add = (line: LogLine | Gap) => {
      counter.current += 1;
      batch.add({ ...line, number: counter.current });
    };
    const client = connect(session, {
      heard: gaps.heard,
      lost: () => {
        // The connection of an earlier filter may close after the next one is open.
        if (isOver) return;
        gaps.began('lost');
        setStatus('connecting');
      },
    });
    const stop = client.subscribe<DataOf<typeof LOG_STREAM>>(
      { query: textOf(LOG_STREAM), variables: JSON.parse(given) },
      {
        next: ({ data }) => {
          if (data == null) return;
          gaps.heard();
          // The first message of each subscription: no line is missed after it.
          if (objectIn(data.logStream.context).watching !== true) return add(data.logStream);
          const gap = gaps.ended();
          if (gap !== null) add(gap);
          setStatus('connected');
        },
        error: () => setStatus('refused'),
        complete: () => undefined,
      },
    );
    return () => {
      isOver = true;
      gaps.began('paused');
      batch.close();
      stop();
      void client.dispose();
    };
  }, [session, given, isPaused, gaps]);
  return { lines, status, clear: () => setLines([]) };
}

/** Measures the times without a subscription, after the first one. */
function createGaps(now: () => number) {
  let heardAt: number | null = null;
  let missed: Omit<Gap, 'until'> | null = null;
  return {
    /** The connection was alive just now. */
    heard() {
      if (heardAt !== null) heardAt = now();
    },
    /** A lost connection is noticed late: the gap begins when the server was last heard. */
    began(why: Gap['why']) {
      if (heardAt !== null) missed = { why, from: why === 'lost' ? heardAt : now() };
      heardAt = null;
    },
    /** A subscription has begun; null if it is the first. */
    ended(): Gap | null {
      const gap = missed === null ? null : { ...missed, until: now() };
      missed = null;
      heardAt = now();
      return gap;
    },
    forget() {
      heardAt = null;
      missed = null;
    },
  };
}

/** Bounded: a hidden tab shows its lines late. */
function createBatch(show: (lines: readonly Line[]) => void) {
  let waiting: Line[] = [];
  let timer: ReturnType<typeof setTimeout> | null = null;
  const flush = () => {
    timer = null;
    show(waiting);
    waiting = [];
  };
  return {
    add(line: Line) {
      if (waiting.length === KEPT_LINES) waiting.shift();
      waiting.push(line);
      timer ??= setTimeout(flush, SHOW_EVERY_MS);
    },
    close() {
      if (timer === null) return;
      clearTimeout(timer);
      flush();
    },
  };
}

/**
 * Connects again after every loss, at the latest `MOST_RETRY_MS` later; the default wait of the client doubles without
 * limit. A connection that a network has dropped silently is noticed by pings.
 */
function connect(session: Session, { heard, lost }: { heard(): void; lost(): void }) {
  let overdue: ReturnType<typeof setTimeout> | undefined;
  const client = createClient({
    url: `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/graphql`,
    connectionParams: async () => ({ Authorization: `Bearer ${(await session.token()) ?? ''}` }),
    retryAttempts: Number.POSITIVE_INFINITY,
    retryWait: (retries) =>
      new Promise((resolve) => setTimeout(resolve, Math.min(MOST_RETRY_MS, 500 * 2 ** retries))),
    shouldRetry: () => true,
    keepAlive: PING_EVERY_MS,
    on: {
      closed: () => {
        clearTimeout(overdue);
        lost();
      },
      ping: (isReceived) => {
        if (!isReceived) overdue = setTimeout(() => client.terminate(), PONG_WITHIN_MS);
      },
      pong: (isReceived) => {
        if (!isReceived) return;
        clearTimeout(overdue);
        heard();
      },
    },
  });
  return client;
}
