import { createContext, use, useSyncExternalStore } from 'react';
import type { Session, SessionState } from './session.ts';

interface Console {
  readonly session: Session;
  /** The base URL for calling models, including its path. */
  readonly gatewayUrl: string;
  /** Whether anyone may sign up a company here. */
  readonly canSignUp: boolean;
  /** The name of the identity provider; empty if users sign in with a password only. */
  readonly oidcName: string;
  /** Granted to a new company once its first admin has verified their address; 0 is none. */
  readonly trialCredits: number;
  /** Whether the demo world's log-ins are in DATA_DIR/demo.json. */
  readonly hasDemoWorld: boolean;
  readonly icon: string;
}

export const ConsoleContext = createContext<Console | null>(null);

export function useConsole(): Console {
  const found = use(ConsoleContext);
  if (found === null) throw new Error('there is no console around this part');
  return found;
}

/** For what is only shown to admins of a company. The backend enforces it in any case. */
export function useIsAdmin(): boolean {
  const state = useSessionState();
  return state.status === 'in' && state.person.companyId !== null && state.person.role === 'COMPANY_ADMIN';
}

export function useSessionState(): SessionState {
  const { session } = useConsole();
  return useSyncExternalStore(session.subscribe, session.state);
}
