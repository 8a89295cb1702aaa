import { AnswerError, post } from './answer-error.ts';
import { type DataOf, graphql, type Query, textOf, type VariablesArgument } from './graphql.ts';

const WHO_AM_I = graphql(`{ whoAmI {
  id email isSuperAdmin role companyId emailVerified totpEnabled mustSetUpTotp recoveryCodesLeft } }`);

export type Person = DataOf<typeof WHO_AM_I>['whoAmI'];

export type SessionState =
  | { readonly status: 'opening' }
  | { readonly status: 'out' }
  | { readonly status: 'in'; readonly person: Person }
  | { readonly status: 'unreachable'; readonly error: Error };

/** What starts a session; the names are those of the routes under /session. */
export type SignInRoute = 'login' | 'sign-up' | 'accept-invitation' | 'reset-password' | 'change-password';

export interface Session {
  state(): SessionState;
  subscribe(changed: () => void): () => void;
  /** Resumes the session of the browser's cookie, if there is one. */
  open(): Promise<void>;
  signIn(route: SignInRoute, variables: object): Promise<void>;
  logOut(): Promise<void>;
  /** An access token that is valid for a while, refreshed if need be; null without a session. */
  token(): Promise<string | null>;
  /** `ask` shows the person a form for a fresh code, and says whether one was given. */
  onStepUp(ask: () => Promise<boolean>): () => void;
  /** Runs a query or a mutation. */
  request<Data, Variables>(
    query: Query<Data, Variables>,
    ...variables: VariablesArgument<Variables>
  ): Promise<Data>;
  /** `changed` runs when another tab of this browser has changed something. */
  onChangeElsewhere(changed: () => void): () => void;
}

interface Tokens {
  readonly accessToken: string;
  readonly expiresAt: string;
}

const REFRESH_BEFORE_MS = 60_000;

/**
 * Who is logged in, in this tab. opening → in or out; in → out on a log-out here or in another tab, or when the
 * server says that the session is over; out → in on a log-in here or in another tab. The access token lives in this
 * closure alone, and the refresh token in a cookie that no script reads.
 */
export function createSession(): Session {
  let state: SessionState = { status: 'opening' };
  let tokens: Tokens | null = null;
  let refreshing: Promise<void> | null = null;
  const watchers = new Set<() => void>();
  const listeners = new Set<() => void>();
  let askForCode: (() => Promise<boolean>) | null = null;
  const otherTabs = new BroadcastChannel('turnpike-session');

  const become = (next: SessionState) => {
    state = next;
    for (const watcher of watchers) watcher();
  };
  const out = () => {
    tokens = null;
    if (state.status !== 'out') become({ status: 'out' });
  };
  // One tab at a time: a refresh token is good once, and the next tab then sends the new one.
  const refresh = () => {
    const exchange = () => post<{ session: Tokens | null }>('/session/refresh', {}, null);
    refreshing ??= oneTabAtATime(exchange)
      .then(({ session }) => {
        tokens = session;
        if (session === null) out();
      })
      .finally(() => {
        refreshing = null;
      });
    return refreshing;
  };
  const isStale = () => tokens === null || Date.parse(tokens.expiresAt) - Date.now() < REFRESH_BEFORE_MS;
  const token = async () => {
    if (state.status === 'out') return null;
    if (isStale()) await refresh();
    return tokens?.accessToken ?? null;
  };
  const request: Session['request'] = async <Data, Variables>(
    of: Query<Data, Variables>,
    ...[variables = {}]: [unknown?]
  ) => {
    const query = textOf(of);
    const once = async () => await post<Data>('/graphql', { query, variables }, await token());
    try {
      const answer = await once();
      if (query.startsWith('mutation')) otherTabs.postMessage('changed');
      return answer;
    } catch (error) {
      if (!(error instanceof AnswerError) || tokens === null) throw error;
      if (error.code === 'STEP_UP_REQUIRED' && (await askForCode?.()) === true) return await once();
      if (error.code !== 'UNAUTHENTICATED') throw error;
      await refresh();
      return await once();
    }
  };
  const learnWho = async () => {
    if (tokens === null) return out();
    const { whoAmI } = await request(WHO_AM_I);
    become({ status: 'in', person: whoAmI });
  };
  const open = async () => {
    try {
      if (state.status !== 'in') become({ status: 'opening' });
      await refresh();
      await learnWho();
    } catch (error) {
      become({ status: 'unreachable', error: error instanceof Error ? error : new Error(String(error)) });
    }
  };

  otherTabs.onmessage = ({ data }) => {
    if (data === 'out') return out();
    if (data === 'changed') {
      for (const listener of listeners) listener();
      return;
    }
    void open();
  };
  return {
    state: () => state,
    subscribe(changed) {
      watchers.add(changed);
      return () => watchers.delete(changed);
    },
    open,
    async signIn(route, variables) {
      const known = route === 'change-password' ? await token() : null;
      tokens = (await post<{ session: Tokens }>(`/session/${route}`, variables, known)).session;
      if (state.status === 'out') state = { status: 'opening' };
      await learnWho();
      otherTabs.postMessage('in');
    },
    async logOut() {
      await post('/session/logout', {}, null);
      out();
      otherTabs.postMessage('out');
    },
    token,
    request,
    onStepUp(ask) {
      askForCode = ask;
      return () => {
        if (askForCode === ask) askForCode = null;
      };
    },
    onChangeElsewhere(changed) {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
  };
}

/** Over plain HTTP from another machine a browser has no locks; the server then tolerates a repeated refresh. */
function oneTabAtATime<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  const locks: LockManager | undefined = navigator.locks;
  return locks === undefined ? work() : locks.request('turnpike-session', work);
}
