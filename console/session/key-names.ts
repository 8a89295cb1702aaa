import { useEffect, useMemo, useState } from 'react';
import { useConsole, useIsAdmin } from './console-context.ts';
import { graphql } from './graphql.ts';
import type { Session } from './session.ts';

const KEY_NAMES = graphql(`query($ids: [ID!]!) {
  apiKeyPage(first: 100, ids: $ids) { nodes { id name lastFour } } }`);
const MOST_AT_ONCE = 100;

/** Names of keys by their ids, loaded as they are shown. Members see the usage, but not the keys: they see part of the id. */
export function useKeyNames(): (id: string) => string {
  const { session } = useConsole();
  const isAdmin = useIsAdmin();
  const [, setVersion] = useState(0);
  const names = useMemo(() => createKeyNames(session, () => setVersion((version) => version + 1)), [session]);
  useEffect(() => () => names.close(), [names]);
  return (id) => (isAdmin ? names.of(id) : null) ?? `…${id.slice(-6)}`;
}

function createKeyNames(session: Session, loaded: () => void) {
  const names = new Map<string, string | null>();
  const wanted = new Set<string>();
  let isClosed = false;
  const load = async () => {
    const ids = [...wanted].slice(0, MOST_AT_ONCE);
    for (const id of ids) {
      wanted.delete(id);
      names.set(id, null);
    }
    try {
      const { apiKeyPage } = await session.request(KEY_NAMES, { ids });
      for (const { id, name, lastFour } of apiKeyPage.nodes) names.set(id, `${name} (…${lastFour})`);
    } catch {
      // The id stays in its place: the page's own query shows what is wrong.
    }
    if (wanted.size > 0) await load();
    else if (!isClosed) loaded();
  };
  return {
    /** Null while it is not known. */
    of(id: string): string | null {
      const known = names.get(id);
      if (known !== undefined) return known;
      if (wanted.size === 0) queueMicrotask(() => void load());
      wanted.add(id);
      return null;
    },
    close() {
      isClosed = true;
    },
  };
}
