import type { SharedStateFailure } from '../../ports/shared-state.ts';

/** The message says what happened and what to do about it, and never carries a password. */
export function sharedStateFailure(
  reason: SharedStateFailure['reason'],
  message: string,
): SharedStateFailure {
  return Object.assign(new Error(message), { name: 'SharedStateFailure' as const, reason });
}

export function isSharedStateFailure(error: unknown): error is SharedStateFailure {
  return error instanceof Error && error.name === 'SharedStateFailure';
}

export function sharedStateClosed(): SharedStateFailure {
  return sharedStateFailure('unavailable', 'Shared state is closed: open it anew.');
}
