import { useCallback, useEffect, useRef, useState } from 'react';
import { useConsole } from './console-context.ts';

export interface Asked<Data> {
  readonly data: Data | null;
  readonly error: Error | null;
  reload(): Promise<void>;
}

/**
 * Asks when it appears, when the variables change and when another tab has changed something, and again every so
 * often while the tab is seen; how often may depend on what was answered, as long as something is still under way.
 */
export function useQuery<Data>(
  query: string,
  variables: object = {},
  everyMs: number | null | ((data: Data | null) => number | null) = null,
): Asked<Data> {
  const { session } = useConsole();
  const [data, setData] = useState<Data | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const turn = useRef(0);
  const words = JSON.stringify(variables);

  const reload = useCallback(async () => {
    turn.current += 1;
    const mine = turn.current;
    try {
      const answer = await session.ask<Data>(query, JSON.parse(words));
      if (mine !== turn.current) return;
      setData(answer);
      setError(null);
    } catch (caught) {
      if (mine === turn.current) setError(asError(caught));
    }
  }, [session, query, words]);

  useEffect(() => {
    void reload();
    return session.onChangeElsewhere(() => void reload());
  }, [session, reload]);
  const beatMs = typeof everyMs === 'function' ? everyMs(data) : everyMs;
  useEffect(() => {
    if (beatMs === null) return;
    const timer = setInterval(() => document.visibilityState === 'visible' && void reload(), beatMs);
    return () => clearInterval(timer);
  }, [reload, beatMs]);
  return { data, error, reload };
}

export interface Doing {
  readonly isBusy: boolean;
  readonly error: Error | null;
  /** Resolves to whether it went well. */
  run(work: () => Promise<unknown>): Promise<boolean>;
}

/** One thing a person does: busy while it lasts, with its error afterwards. */
export function useDoing(): Doing {
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

interface Connection<Node> {
  readonly nodes: readonly Node[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

const LIST_EVERY_MS = 10_000;

/**
 * A list of pages: the first one is asked as any query, and again every so often, so that two tabs agree; further
 * ones when a person wants more, and from then on the list stays as it is. `hurryMs` may ask for a shorter time.
 */
export function usePages<Node>(
  query: string,
  field: string,
  variables: object = {},
  hurryMs: (nodes: readonly Node[]) => number | null = () => null,
) {
  const { session } = useConsole();
  const [further, setFurther] = useState<readonly Connection<Node>[]>([]);
  const first = useQuery<Record<string, Connection<Node>>>(query, variables, (data) => {
    if (further.length > 0) return null;
    return hurryMs(data?.[field]?.nodes ?? []) ?? LIST_EVERY_MS;
  });
  const doing = useDoing();
  const page = first.data?.[field] ?? null;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new first page makes the further ones old
  useEffect(() => setFurther([]), [page]);
  const last = further.at(-1) ?? page;
  return {
    nodes: page === null ? null : [page, ...further].flatMap(({ nodes }) => nodes),
    error: first.error ?? doing.error,
    reload: first.reload,
    hasMore: last?.pageInfo.hasNextPage === true,
    isBusy: doing.isBusy,
    more: () =>
      doing.run(async () => {
        const after = last?.pageInfo.endCursor ?? null;
        const next = (await session.ask<Record<string, Connection<Node>>>(query, { ...variables, after }))[
          field
        ];
        if (next !== undefined) setFurther([...further, next]);
      }),
  };
}

function asError(caught: unknown): Error {
  return caught instanceof Error ? caught : new Error(String(caught));
}
