import { useCallback, useEffect, useRef, useState } from 'react';
import { useConsole } from './console-context.ts';
import type { Query, ReadOnly, VariablesArgument } from './graphql.ts';

export interface QueryResult<Data> {
  readonly data: Data | null;
  /** The data is of earlier variables: the answer to those of now is under way, or was an error. */
  readonly isStale: boolean;
  readonly error: Error | null;
  reload(): Promise<void>;
}

/** How often a query is repeated while its tab is visible; null is never. */
type Interval<Data> = number | null | ((data: Data | null) => number | null);

/** After this a request that was not answered no longer holds back the next repeat. */
const PATIENCE_MS = 30_000;

/** The variables may be left out where the query requires none. */
type Rest<Variables, Last> = object extends Variables
  ? [variables?: ReadOnly<Variables>, last?: Last]
  : [variables: ReadOnly<Variables>, last?: Last];

/**
 * Runs a query when the component appears, when the variables change and when another tab has changed something, and
 * repeats it every so often; how often may depend on the data, for as long as something is still in progress. A repeat is
 * left out while a request is under way: where answers take longer than the interval, each would discard the one before.
 */
export function useQuery<Data, Variables>(
  query: Query<Data, Variables>,
  ...[variables, everyMs = null]: Rest<Variables, Interval<Data>>
): QueryResult<Data> {
  const { session } = useConsole();
  const [answered, setAnswered] = useState<{ readonly data: Data; readonly given: string } | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const latest = useRef(0);
  const shown = useRef(0);
  const pendingSince = useRef<number | null>(null);
  // By their text, so that an equal object is no change.
  const given = JSON.stringify(variables ?? {});
  const current = useRef(given);
  current.current = given;

  const reload = useCallback(async () => {
    latest.current += 1;
    const mine = latest.current;
    pendingSince.current = performance.now();
    // Not only the answer to the latest request: with requests that come faster than answers none would ever be shown.
    const isNews = () => mine > shown.current && given === current.current;
    try {
      const data = await session.request(query as Query<Data, object>, JSON.parse(given));
      if (!isNews()) return;
      shown.current = mine;
      setAnswered({ data, given });
      setError(null);
    } catch (caught) {
      if (isNews()) setError(asError(caught));
    } finally {
      if (mine === latest.current) pendingSince.current = null;
    }
  }, [session, query, given]);

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

export interface Action {
  readonly isBusy: boolean;
  readonly error: Error | null;
  /** Resolves to whether it succeeded. */
  run(work: () => Promise<unknown>): Promise<boolean>;
}

/** Something that a person does: busy while it lasts, with its error afterwards. */
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

/** The second click of a double click: where the first was answered at once, it would do the same again, or undo it. */
export function isSecondOfTwo({ detail }: { readonly detail: number }): boolean {
  return detail > 1;
}

/** Runs a mutation and then `reload`, so that the page shows what was changed. */
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
  /** Of lists that look at a bounded number of rows for each page. */
  readonly searchedUntil?: string | null;
}

const LIST_EVERY_MS = 10_000;

/**
 * A paged list, from a query whose only field is a connection. The first page is repeated like any query, so that two
 * tabs agree; further pages come on demand, and from then on the list stays as it is. `hurryMs` may return a shorter
 * time between two repeats.
 */
export function usePages<Node, Variables>(
  query: Query<{ readonly [field: string]: Connection<Node> }, Variables>,
  ...[variables, hurryMs = () => null]: Rest<Variables, (nodes: readonly Node[]) => number | null>
) {
  type Data = { readonly [field: string]: Connection<Node> };
  const { session } = useConsole();
  const [further, setFurther] = useState<readonly Connection<Node>[]>([]);
  const pageQuery = query as Query<Data, object>;
  const first = useQuery(pageQuery, { ...variables }, (data) => {
    if (further.length > 0) return null;
    return hurryMs(connectionIn(data)?.nodes ?? []) ?? LIST_EVERY_MS;
  });
  const action = useAction();
  const page = connectionIn(first.data);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new first page makes the further ones old
  useEffect(() => setFurther([]), [page]);
  const last = further.at(-1) ?? page;
  const shownLast = useRef(last);
  shownLast.current = last;
  return {
    isStale: first.isStale,
    nodes: page === null ? null : [page, ...further].flatMap(({ nodes }) => nodes),
    error: first.error ?? action.error,
    reload: first.reload,
    hasMore: last?.pageInfo.hasNextPage === true,
    searchedUntil: last?.searchedUntil ?? null,
    isBusy: action.isBusy,
    more: () =>
      action.run(async () => {
        const after = last?.pageInfo.endCursor ?? null;
        const next = connectionIn(await session.request(pageQuery, { ...variables, after }));
        // Rows were added above, or the filter is another one: it is not what follows the list of now.
        if (next !== null && shownLast.current === last) setFurther([...further, next]);
      }),
  };
}

function connectionIn<Node>(
  data: { readonly [field: string]: Connection<Node> } | null,
): Connection<Node> | null {
  return data === null ? null : (Object.values(data)[0] ?? null);
}

function asError(caught: unknown): Error {
  return caught instanceof Error ? caught : new Error(String(caught));
}
