import { createContext, use, useSyncExternalStore } from 'react';
import type { Session, SessionState } from './session.ts';

export interface Console {
  readonly session: Session;
  /** Where the models are called, with its path. */
  readonly gatewayUrl: string;
  /** Whether anyone may sign up a company here. */
  readonly canSignUp: boolean;
  /** The name of the identity provider; empty where people sign in with a password only. */
  readonly oidcName: string;
  /** What a new company gets once its first admin has verified the address; 0 is nothing. */
  readonly trialCredits: number;
  readonly icon: string;
}

export const ConsoleContext = createContext<Console | null>(null);

export function useConsole(): Console {
  const found = use(ConsoleContext);
  if (found === null) throw new Error('there is no console around this part');
  return found;
}

/** For what is shown to admins of a company alone; the backend decides in any case. */
export function useIsAdmin(): boolean {
  const state = useSessionState();
  return state.status === 'in' && state.person.companyId !== null && state.person.role === 'COMPANY_ADMIN';
}

export function useSessionState(): SessionState {
  const { session } = useConsole();
  return useSyncExternalStore(session.subscribe, session.state);
}
