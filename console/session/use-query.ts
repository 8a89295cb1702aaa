import { useCallback, useEffect, useRef, useState } from 'react';
import { useConsole } from './console-context.ts';
import type { Query, ReadOnly, VariablesArgument } from './graphql.ts';

export interface QueryResult<Data> {
  readonly data: Data | null;
  readonly error: Error | null;
  reload(): Promise<void>;
}

/** How often a query is repeated while its tab is visible; null is never. */
type Interval<Data> = number | null | ((data: Data | null) => number | null);

/** The variables may be left out where the query requires none. */
type Rest<Variables, Last> = object extends Variables
  ? [variables?: ReadOnly<Variables>, last?: Last]
  : [variables: ReadOnly<Variables>, last?: Last];

/**
 * Runs a query when the component appears, when the variables change and when another tab has changed something, and
 * repeats it every so often; how often may depend on the data, for as long as something is still in progress.
 */
export function useQuery<Data, Variables>(
  query: Query<Data, Variables>,
  ...[variables, everyMs = null]: Rest<Variables, Interval<Data>>
): QueryResult<Data> {
  const { session } = useConsole();
  const [data, setData] = useState<Data | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const latest = useRef(0);
  // By their text, so that an equal object is no change.
  const given = JSON.stringify(variables ?? {});

  const reload = useCallback(async () => {
    latest.current += 1;
    const mine = latest.current;
    try {
      const answer = await session.request(query as Query<Data, object>, JSON.parse(given));
      if (mine !== latest.current) return;
      setData(answer);
      setError(null);
    } catch (caught) {
      if (mine === latest.current) setError(asError(caught));
    }
  }, [session, query, given]);

  useEffect(() => {
    void reload();
    return session.onChangeElsewhere(() => void reload());
  }, [session, reload]);
  const intervalMs = typeof everyMs === 'function' ? everyMs(data) : everyMs;
  useEffect(() => {
    if (intervalMs === null) return;
    const timer = setInterval(() => document.visibilityState === 'visible' && void reload(), intervalMs);
    return () => clearInterval(timer);
  }, [reload, intervalMs]);
  return { data, error, reload };
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
  return {
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
        if (next !== null) setFurther([...further, next]);
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
