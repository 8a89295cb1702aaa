import { useEffect, useState } from 'react';
import { useConsole, useIsAdmin, useSessionState } from './console-context.ts';
import { graphql } from './graphql.ts';
import type { Session } from './session.ts';

const NAMES = graphql(`query($ids: [ID!]!) { objectNames(ids: $ids) { id name } }`);
const MOST_AT_ONCE = 100;

/** Names by id, loaded when they are shown; null while a name is unknown. Members may not query them. */
export function useObjectNames(): (id: string) => string | null {
  const { session } = useConsole();
  const state = useSessionState();
  const isAdmin = useIsAdmin();
  const mayAsk = isAdmin || (state.status === 'in' && state.person.isSuperAdmin);
  const [, setVersion] = useState(0);
  const names = namesOf(session);
  useEffect(() => names.subscribe(() => setVersion((version) => version + 1)), [names]);
  return (id) => (mayAsk ? names.of(id) : null);
}

/** Names of keys, or the end of the id while a name is unknown. */
export function useKeyNames(): (id: string) => string {
  const nameOf = useObjectNames();
  return (id) => nameOf(id) ?? endOf(id);
}

/** Enough of an id to distinguish it from others. */
export const endOf = (id: string) => `…${id.slice(-6)}`;

type Names = ReturnType<typeof createNames>;

const shared = new WeakMap<Session, Names>();

/** Shared by the rows of a page: one request for all of their ids, not one for each row. */
function namesOf(session: Session): Names {
  const names = shared.get(session) ?? createNames(session);
  shared.set(session, names);
  return names;
}

function createNames(session: Session) {
  const names = new Map<string, string | null>();
  const wanted = new Set<string>();
  const listeners = new Set<() => void>();
  const load = async () => {
    const ids = [...wanted].slice(0, MOST_AT_ONCE);
    for (const id of ids) {
      wanted.delete(id);
      names.set(id, null);
    }
    try {
      const { objectNames } = await session.request(NAMES, { ids });
      for (const { id, name } of objectNames) names.set(id, name);
    } catch {
      // The id is shown instead; the page's own query shows the error.
    }
    if (wanted.size > 0) await load();
    else for (const listener of listeners) listener();
  };
  return {
    /** Null while it is unknown. */
    of(id: string): string | null {
      const known = names.get(id);
      if (known !== undefined) return known;
      if (wanted.size === 0) queueMicrotask(() => void load());
      wanted.add(id);
      return null;
    },
    /** Names are forgotten with the page that shows them: they may be changed, and another person may log in. */
    subscribe(loaded: () => void): () => void {
      listeners.add(loaded);
      return () => {
        listeners.delete(loaded);
        // Not if what takes the place of these rows shows names too: a form would be built again once they are known.
        queueMicrotask(() => listeners.size === 0 && names.clear());
      };
    },
  };
}
