import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useConsole } from './console-context.ts';
import { type Query, type ReadOnly, textOf, type VariablesArgument } from './graphql.ts';

export interface QueryResult<Data> {
  readonly data: Data | null;
  /** The data belongs to earlier variables: the request with the current ones is pending or failed. */
  readonly isStale: boolean;
  readonly error: Error | null;
  reload(): Promise<void>;
}

/** How often a query is repeated while its tab is visible; null is never. */
type Interval<Data> = number | null | ((data: Data | null) => number | null);

/** A request that is unanswered for longer than this no longer delays the next repeat. */
const PATIENCE_MS = 30_000;

/** The variables are optional if the query requires none. */
type Rest<Variables, Last> = object extends Variables
  ? [variables?: ReadOnly<Variables>, last?: Last]
  : [variables: ReadOnly<Variables>, last?: Last];

/**
 * Runs a query when the component mounts, when the variables change and when another tab has changed something, and
 * repeats it at an interval. The interval may depend on the data, for example while something is in progress. A repeat
 * is skipped while a request is pending.
 */
export function useQuery<Data, Variables>(
  query: Query<Data, Variables>,
  ...[variables, everyMs = null]: Rest<Variables, Interval<Data>>
): QueryResult<Data> {
  const { session } = useConsole();
  // Compared as text, so that an equal object is not a change.
  const given = JSON.stringify(variables ?? {});
  const load = useCallback(
    () => session.load(query as Query<Data, object>, JSON.parse(given)),
    [session, query, given],
  );
  return useLoaded(load, given, everyMs);
}

/**
 * `load` must change with `given`, the text of the variables. Until a complete result for `given` has arrived, what
 * `load` passes to `show` is shown.
 */
function useLoaded<Data>(
  load: (show: (part: Data) => void) => Promise<Data>,
  given: string,
  everyMs: Interval<Data>,
): QueryResult<Data> {
  const { session } = useConsole();
  const [answered, setAnswered] = useState<{ readonly data: Data; readonly given: string } | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const latest = useRef(0);
  const shown = useRef(0);
  const pendingSince = useRef<number | null>(null);
  const whole = useRef<string | null>(null);
  const current = useRef(given);
  current.current = given;

  const reload = useCallback(async () => {
    latest.current += 1;
    const mine = latest.current;
    pendingSince.current = performance.now();
    // Not only the answer to the latest request: if requests were sent faster than answers arrive, none would be shown.
    const isNews = () => mine > shown.current && given === current.current;
    try {
      const data = await load((part) => {
        if (isNews() && whole.current !== given) setAnswered({ data: part, given });
      });
      if (!isNews()) return;
      shown.current = mine;
      whole.current = given;
      setAnswered({ data, given });
      setError(null);
    } catch (caught) {
      if (isNews()) setError(asError(caught));
    } finally {
      if (mine === latest.current) pendingSince.current = null;
    }
  }, [load, given]);

  useEffect(() => {
    void reload();
    return session.onChangeElsewhere(() => void reload());
  }, [session, reload]);
  const data = answered?.data ?? null;
  const intervalMs = typeof everyMs === 'function' ? everyMs(data) : everyMs;
  useEffect(() => {
    if (intervalMs === null) return;
    const repeat = () => {
      const isPending = performance.now() - (pendingSince.current ?? Number.NEGATIVE_INFINITY) < PATIENCE_MS;
      if (document.visibilityState === 'visible' && !isPending) void reload();
    };
    const timer = setInterval(repeat, intervalMs);
    return () => clearInterval(timer);
  }, [reload, intervalMs]);
  return { data, isStale: answered !== null && answered.given !== given, error, reload };
}

/** A search begins once the typing has paused: not with one request for each letter. */
const SETTLED_AFTER_MS = 250;

/** The value as it was before it began to change, until it has not changed for a moment. */
export function useSettled<Value>(value: Value): Value {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), SETTLED_AFTER_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

interface Action {
  readonly isBusy: boolean;
  readonly error: Error | null;
  /** Resolves to whether it succeeded. */
  run(work: () => Promise<unknown>): Promise<boolean>;
}

/** An action of the user: busy while it runs, with its error afterwards. */
export function useAction(): Action {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const run = async (work: () => Promise<unknown>) => {
    setBusy(true);
    setError(null);
    try {
      await work();
      return true;
    } catch (caught) {
      setError(asError(caught));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, error, run };
}

/** The second click of a double click: if the first was answered at once, it would repeat or undo the action. */
export function isSecondOfTwo({ detail }: { readonly detail: number }): boolean {
  return detail > 1;
}

/** Runs a mutation and then `reload`, so that the page shows the change. */
export function useChange(reload: () => Promise<void>) {
  const { session } = useConsole();
  return async <Data, Variables>(
    mutation: Query<Data, Variables>,
    ...variables: VariablesArgument<Variables>
  ): Promise<Data> => {
    const data = await session.request(mutation, ...variables);
    await reload();
    return data;
  };
}

interface Connection<Node> {
  readonly nodes: readonly Node[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  /** For lists whose pages each search a limited number of rows. */
  readonly searchedUntil?: string | null;
}

const LIST_EVERY_MS = 10_000;
/** The most pages that a reload loads; further pages are loaded on demand again. */
const MOST_PAGES = 10;

/**
 * A paged list, from a query whose only field is a connection. The first page is repeated like any query, so that two
 * tabs agree. Further pages are loaded on demand; a list with more than one page is not repeated automatically. After
 * an action, a reload of the page and a step back it has as many pages as before. `hurryMs` may return a different
 * interval between two repeats.
 */
export function usePages<Node, Variables>(
  query: Query<{ readonly [field: string]: Connection<Node> }, Variables>,
  ...[variables, hurryMs = () => null]: Rest<Variables, (nodes: readonly Node[]) => number | null>
) {
  const { session } = useConsole();
  const given = JSON.stringify(variables ?? {});
  const wanted = usePageCount(textOf(query), given);
  const pageAfter = useCallback(
    async (before: Connection<Node> | null) => {
      const after = before?.pageInfo.endCursor ?? null;
      const sent = { ...JSON.parse(given), ...(before === null ? {} : { after }) };
      return connectionIn<Node>(await session.load(query as Query<Answer<Node>, object>, sent));
    },
    [session, query, given],
  );
  const load = useCallback(
    async (show: (part: readonly Connection<Node>[]) => void) => {
      const pages = [await pageAfter(null)];
      while (pages.length < Math.min(wanted.count(), MOST_PAGES)) {
        const last = pages.at(-1);
        if (last?.pageInfo.hasNextPage !== true) break;
        show([...pages]);
        pages.push(await pageAfter(last));
      }
      return pages;
    },
    [pageAfter, wanted],
  );
  // The pages added to a load, identified by that load: the next load includes them.
  const [further, setFurther] = useState<Further<Node>>({ to: null, pages: [] });
  const first = useLoaded(load, given, (pages) => {
    if (pages !== null && (pages.length > 1 || isFurther(further, pages))) return null;
    return hurryMs(pages?.[0]?.nodes ?? []) ?? LIST_EVERY_MS;
  });
  const action = useAction();
  const loaded = useRef(first.data);
  loaded.current = first.data;
  const pages = [...(first.data ?? []), ...(isFurther(further, first.data) ? further.pages : [])];
  const last = pages.at(-1) ?? null;
  return {
    isStale: first.isStale,
    nodes: first.data === null ? null : pages.flatMap(({ nodes }) => nodes),
    error: first.error ?? action.error,
    reload: first.reload,
    hasMore: last?.pageInfo.hasNextPage === true,
    searchedUntil: last?.searchedUntil ?? null,
    isBusy: action.isBusy,
    more: () =>
      action.run(async () => {
        const [to, next] = [first.data, await pageAfter(last)];
        // Rows were added above, or the filter has changed: the page does not continue the current list.
        if (to === null || loaded.current !== to) return;
        wanted.set(pages.length + 1);
        setFurther({ to, pages: [...pages.slice(to.length), next] });
      }),
  };
}

type Answer<Node> = { readonly [field: string]: Connection<Node> };

interface Further<Node> {
  readonly to: readonly Connection<Node>[] | null;
  readonly pages: readonly Connection<Node>[];
}

function isFurther<Node>({ to }: Further<Node>, pages: readonly Connection<Node>[] | null): boolean {
  return to !== null && to === pages;
}

/** The number of pages of a list, stored in the entry of the browser's history, by the text of its query. */
function usePageCount(query: string, given: string) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: other variables are another list
  return useMemo(() => {
    let pages = storedCounts()[query] ?? 1;
    return {
      count: () => pages,
      set(next: number) {
        pages = next;
        const pagesOf = { ...storedCounts(), [query]: next };
        history.replaceState({ ...history.state, pagesOf }, '');
      },
    };
  }, [query, given]);
}

function storedCounts(): Readonly<Record<string, number | undefined>> {
  return (history.state as { pagesOf?: Record<string, number> } | null)?.pagesOf ?? {};
}

function connectionIn<Node>(data: Answer<Node>): Connection<Node> {
  const [connection] = Object.values(data);
  if (connection === undefined) throw new Error('The answer has no list.');
  return connection;
}

function asError(caught: unknown): Error {
  return caught instanceof Error ? caught : new Error(String(caught));
}
