import type { Log } from '../../ports/log.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { Claim, SharedState } from '../../ports/shared-state.ts';
import { addressBlock } from '../limits/address-block.ts';
import { emailKey } from './email.ts';

/** What is counted, because guessing or flooding would otherwise be worthwhile. */
export type AttemptKind =
  | 'log-in'
  | 'sign-up'
  | 'reset'
  | 'token'
  | 'invitation'
  | 'totp'
  | 'verification'
  | 'alert-test'
  | 'own-key-test';

type CountedAttempt =
  | { readonly outcome: 'admitted' }
  | { readonly outcome: 'refused'; readonly by: 'address' | 'account'; readonly retryAfterMs: number };

export interface Attempts {
  /**
   * Counts an attempt from this address and, if given, on this account: a user's id, or the email address that was
   * entered.
   */
  count(kind: AttemptKind, address: string, account?: string): Promise<CountedAttempt>;
  /** Resets the account's own count after a success, so that regular use locks no user out. */
  forgive(kind: AttemptKind, account: string): Promise<void>;
}

interface Bounds {
  readonly windowMs: number;
  readonly perAddress: number;
  readonly perAccount: number;
}

const MINUTE_MS = 60_000;

/** An office behind one address may log in all day; one account may be tried ten times in a quarter of an hour. */
const ATTEMPT_BOUNDS: Readonly<Record<AttemptKind, Bounds>> = {
  'log-in': { windowMs: 15 * MINUTE_MS, perAddress: 100, perAccount: 10 },
  'sign-up': { windowMs: 60 * MINUTE_MS, perAddress: 30, perAccount: 10 },
  reset: { windowMs: 60 * MINUTE_MS, perAddress: 30, perAccount: 5 },
  verification: { windowMs: 60 * MINUTE_MS, perAddress: 30, perAccount: 5 },
  token: { windowMs: 15 * MINUTE_MS, perAddress: 100, perAccount: 100 },
  // One code in 333,000 is valid at any time: with ten attempts per quarter of an hour, an even chance takes about
  // 1,000 days.
  totp: { windowMs: 15 * MINUTE_MS, perAddress: 100, perAccount: 10 },
  invitation: { windowMs: 60 * MINUTE_MS, perAddress: 300, perAccount: 100 },
  // Each is a request to an address that the company chose.
  'alert-test': { windowMs: 10 * MINUTE_MS, perAddress: 60, perAccount: 20 },
  // Each calls a provider from our address, with a key that may not be the company's.
  'own-key-test': { windowMs: 15 * MINUTE_MS, perAddress: 100, perAccount: 30 },
};

export interface AttemptsParts {
  readonly sharedState: SharedState;
  /** Local counters while shared state is unavailable: users are not locked out, and guessing stays slow. */
  readonly ownState: SharedState;
  readonly secrets: Secrets;
  readonly log: Log;
}

export function createAttempts({ sharedState, ownState, secrets, log }: AttemptsParts): Attempts {
  async function reserve(tag: string, claim: Claim) {
    try {
      return await sharedState.reserve(tag, [claim]);
    } catch (error) {
      log.warn('shared state is unavailable: attempts are counted in this process alone', { error });
      return await ownState.reserve(tag, [claim]);
    }
  }

  async function take(kind: AttemptKind, by: 'address' | 'account', whose: string): Promise<CountedAttempt> {
    const { windowMs } = ATTEMPT_BOUNDS[kind];
    const taken = await reserve(tagOf(kind, by, whose), windowOf(kind, by, 1));
    if (taken.outcome !== 'refused') return { outcome: 'admitted' };
    return { outcome: 'refused', by, retryAfterMs: taken.retryAfterMs ?? windowMs };
  }

  /**
   * By the key that accounts are found by, so that another spelling is not counted separately. Hashed: shared state
   * stores no address.
   */
  function tagOf(kind: AttemptKind, by: string, whose: string): string {
    return `${kind} by ${by} ${secrets.sha256(emailKey(whose)).toHex()}`;
  }

  return {
    async count(kind, address, account) {
      const byAddress = await take(kind, 'address', addressBlock(address));
      if (byAddress.outcome === 'refused' || account === undefined) return byAddress;
      return await take(kind, 'account', account);
    },
    async forgive(kind, account) {
      const tag = tagOf(kind, 'account', account);
      const settlement = { kind: 'clear', name: 'attempts' } as const;
      await sharedState.settle(tag, [settlement]).catch(() => ownState.settle(tag, [settlement]));
    },
  };
}

function windowOf(kind: AttemptKind, by: 'address' | 'account', amount: number): Claim {
  const { windowMs, perAddress, perAccount } = ATTEMPT_BOUNDS[kind];
  const limit = by === 'address' ? perAddress : perAccount;
  return { kind: 'window', name: 'attempts', amount, limit, windowMs };
}
