import { AnswerError, post } from './answer-error.ts';
import { type DataOf, graphql, type Query, textOf, type VariablesArgument } from './graphql.ts';

const WHO_AM_I = graphql(`{ whoAmI {
  id email isSuperAdmin role companyId emailVerified totpEnabled mustSetUpTotp recoveryCodesLeft } }`);

export type Person = DataOf<typeof WHO_AM_I>['whoAmI'];

export type SessionState =
  | { readonly status: 'opening' }
  | { readonly status: 'out' }
  /** `hasEnded`: the server has ended the session. The page stays as it is behind the login form. */
  | { readonly status: 'in'; readonly person: Person; readonly hasEnded: boolean }
  | { readonly status: 'unreachable'; readonly error: Error };

/** Starts a session; the names are those of the routes under /session. */
export type SignInRoute = 'login' | 'sign-up' | 'accept-invitation' | 'reset-password' | 'change-password';

export interface Session {
  state(): SessionState;
  subscribe(changed: () => void): () => void;
  /** Resumes the session of the browser's cookie, if there is one. The other tabs hear of a new one. */
  open(options?: { readonly isNew?: boolean }): Promise<void>;
  signIn(route: SignInRoute, variables: object): Promise<void>;
  logOut(): Promise<void>;
  /** An access token that is valid for a while, refreshed if necessary; null without a session. */
  token(): Promise<string | null>;
  /** `ask` shows a form for a fresh code and resolves to whether one was entered. */
  onStepUp(ask: () => Promise<boolean>): () => void;
  request<Data, Variables>(
    query: Query<Data, Variables>,
    ...variables: VariablesArgument<Variables>
  ): Promise<Data>;
  /** As `request`, for what a page shows: the other tabs are not notified, even if it is a mutation that only looks. */
  load: Session['request'];
  /**
   * `changed` runs when another tab of this browser has changed something, or when a change was refused as a conflict.
   */
  onChangeElsewhere(changed: () => void): () => void;
}

interface Tokens {
  readonly accessToken: string;
  readonly expiresAt: string;
}

const REFRESH_BEFORE_MS = 60_000;
/**
 * Within this time a visible page detects that its session has ended, or that its user was changed elsewhere: another
 * role, an address that was verified on another device.
 */
const CHECK_EVERY_MS = 30_000;

/**
 * Who is logged in in this tab. opening → in or out; in → out on a log-out here or in another tab; in → in with
 * `hasEnded` when the server reports that the session is over, and back on a log-in here or in another tab; out → in on
 * a log-in likewise. The access token is kept in this closure only, and the refresh token in a cookie that no script
 * can read.
 */
export function createSession(): Session {
  let state: SessionState = { status: 'opening' };
  let tokens: Tokens | null = null;
  let refreshing: Promise<void> | null = null;
  const watchers = new Set<() => void>();
  const listeners = new Set<() => void>();
  /** Questions who the user is, counted; answers to those up to `answered` are outdated. */
  let asked = 0;
  let answered = 0;
  let askForCode: (() => Promise<boolean>) | null = null;
  const otherTabs = new BroadcastChannel('turnpike-session');

  const become = (next: SessionState) => {
    state = next;
    for (const watcher of watchers) watcher();
  };
  const personId = () => (state.status === 'in' ? state.person.id : null);
  const out = () => {
    tokens = null;
    answered = asked;
    if (state.status !== 'out') become({ status: 'out' });
  };
  const end = () => {
    tokens = null;
    answered = asked;
    if (state.status !== 'in') return out();
    if (!state.hasEnded) become({ ...state, hasEnded: true });
  };
  const welcome = (person: Person) => {
    const hadEnded = state.status === 'in' && state.hasEnded;
    const isSame = state.status === 'in' && JSON.stringify(state.person) === JSON.stringify(person);
    if (!isSame || hadEnded) become({ status: 'in', person, hasEnded: false });
    if (hadEnded) for (const listener of listeners) listener();
  };
  // One tab at a time: a refresh token works once, and the next tab then sends the new one.
  const refresh = () => {
    const exchange = () => post<{ session: Tokens | null }>('/session/refresh', {}, null);
    refreshing ??= oneTabAtATime(exchange)
      .then(async ({ session }) => {
        if (session === null) return end();
        // Another user may have logged in without a message to this tab, as by an identity provider.
        const person = personId() === null ? null : await personOf(session);
        if (person !== null && personId() === null) return;
        tokens = session;
        if (person === null) return;
        // Earlier questions were asked with the earlier token.
        answered = asked;
        welcome(person);
      })
      .finally(() => {
        refreshing = null;
      });
    return refreshing;
  };
  const isStale = () => tokens === null || Date.parse(tokens.expiresAt) - Date.now() < REFRESH_BEFORE_MS;
  const token = async () => {
    const isOver = state.status === 'out' || (state.status === 'in' && state.hasEnded);
    if (isOver && tokens === null) return null;
    if (isStale()) await refresh();
    return tokens?.accessToken ?? null;
  };
  const load: Session['load'] = async <Data, Variables>(
    of: Query<Data, Variables>,
    ...[variables = {}]: [unknown?]
  ) => {
    const query = textOf(of);
    const sender = personId();
    const once = async () => {
      const known = await token();
      if (known === null && state.status === 'in') throw endedError();
      // What one user has typed is not sent as another.
      if (sender !== null && sender !== personId()) throw endedError();
      return await post<Data>('/graphql', { query, variables }, known);
    };
    try {
      return await once();
    } catch (error) {
      if (!(error instanceof AnswerError) || tokens === null) throw error;
      // Another user has saved first: the page shows outdated data.
      if (error.code === 'CONFLICT') for (const listener of listeners) listener();
      if (error.code === 'STEP_UP_REQUIRED' && (await askForCode?.()) === true) return await once();
      if (error.code !== 'UNAUTHENTICATED') throw error;
      await refresh();
      return await once();
    }
  };
  const request: Session['request'] = async (of, ...variables) => {
    const answer = await load(of, ...variables);
    if (textOf(of).startsWith('mutation')) otherTabs.postMessage('changed');
    return answer;
  };
  const learnWho = async () => {
    if (tokens === null) return end();
    asked += 1;
    const mine = asked;
    const { whoAmI } = await load(WHO_AM_I);
    // A later question was answered first, or the user has logged out.
    if (mine <= answered) return;
    answered = mine;
    welcome(whoAmI);
  };
  const open: Session['open'] = async ({ isNew = false } = {}) => {
    try {
      if (state.status === 'unreachable') become({ status: 'opening' });
      await refresh();
      await learnWho();
      if (isNew && state.status === 'in') otherTabs.postMessage('in');
    } catch (error) {
      // The next check asks again.
      if (state.status === 'in') return;
      // A form for visitors stays as it is.
      if (state.status === 'out') return out();
      become({ status: 'unreachable', error: asError(error) });
    }
  };
  const check = () => {
    if (document.visibilityState !== 'visible' || state.status !== 'in' || state.hasEnded) return;
    learnWho().catch(() => undefined);
  };
  setInterval(check, CHECK_EVERY_MS);
  document.addEventListener('visibilitychange', check);

  otherTabs.onmessage = ({ data }) => {
    if (data === 'out') return out();
    if (data === 'changed') {
      // The change may be of the user, such as a verified address.
      check();
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
      try {
        await learnWho();
      } catch (error) {
        if (state.status === 'in') throw error;
        // The session has started nevertheless: the page offers to try again.
        become({ status: 'unreachable', error: asError(error) });
      }
      otherTabs.postMessage('in');
    },
    async logOut() {
      await post('/session/logout', {}, null);
      out();
      otherTabs.postMessage('out');
    },
    token,
    request,
    load,
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

async function personOf({ accessToken }: Tokens): Promise<Person> {
  const body = { query: textOf(WHO_AM_I), variables: {} };
  return (await post<DataOf<typeof WHO_AM_I>>('/graphql', body, accessToken)).whoAmI;
}

function asError(caught: unknown): Error {
  return caught instanceof Error ? caught : new Error(String(caught));
}

/** It is read after logging in: until then the form for that covers the page. */
function endedError(): AnswerError {
  return new AnswerError('Your session had ended: this was not done. Try again.', 'UNAUTHENTICATED', null);
}

/** Over plain HTTP from another machine, browsers have no locks; the server then tolerates a repeated refresh. */
function oneTabAtATime<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  const locks: LockManager | undefined = navigator.locks;
  return locks === undefined ? work() : locks.request('turnpike-session', work);
}
