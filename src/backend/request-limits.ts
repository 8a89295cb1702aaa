import { addressBlock } from '../domain/limits/address-block.ts';
import { createStatePlace } from '../domain/limits/claims.ts';
import {
  type CountedRequest,
  type CountRequest,
  createRequestCount,
} from '../domain/limits/request-count.ts';
import type { Clock } from '../ports/clock.ts';
import type { Log } from '../ports/log.ts';
import type { SharedState } from '../ports/shared-state.ts';

export interface RequestLimitsParts {
  readonly sharedState: SharedState;
  /** This process's own counters, used while shared state is unavailable. */
  readonly ownState: SharedState;
  readonly clock: Clock;
  readonly log: Log;
  /** 0 disables it. */
  readonly requestsPerMinute: number;
}

/** The backend's limits per minute. Health, metrics, pages and signed webhooks are not counted. */
export interface RequestLimits {
  /** A GraphQL request of a signed-in user, or of an address. */
  countRequest(clientAddress: string, userId: string | null): Promise<CountedRequest>;
  /**
   * A request with a service token, counted for its creator, or for the address if it is not valid. A token that was
   * not valid before is looked up only while the address is within its limit, so that a flood of invented tokens causes
   * no queries.
   */
  countServiceToken(clientAddress: string, token: ServiceTokenLookup): Promise<CountedRequest>;
  /** A payment event whose signature is invalid. */
  countBadSignature(clientAddress: string): Promise<CountedRequest>;
}

interface ServiceTokenLookup {
  /** Of the token as it was sent. */
  readonly digest: string;
  /** Null for a token that is not valid. */
  creatorId(): Promise<string | null>;
}

const MOST_VALID_TOKENS = 1_000;
/** A misconfigured provider sends a few per minute, and needs the response that says so. */
const BAD_SIGNATURES_PER_MINUTE = 120;

export function createRequestLimits(parts: RequestLimitsParts): RequestLimits {
  const { clock, requestsPerMinute } = parts;
  const place = createStatePlace(parts);
  const counter = (of: string, most: number): CountRequest =>
    createRequestCount({ place, clock, of, requestsPerMinute: most });
  const ofAddress = counter('backend address', requestsPerMinute);
  const ofUser = counter('backend user', requestsPerMinute);
  const badSignatures = counter('bad signatures of', BAD_SIGNATURES_PER_MINUTE);
  /** Digests of tokens that this process found valid. */
  const validTokens = new Set<string>();
  return {
    countRequest: async (clientAddress, userId) =>
      await (userId === null ? ofAddress(addressBlock(clientAddress)) : ofUser(userId)),
    async countServiceToken(clientAddress, { digest, creatorId }) {
      const counted = validTokens.has(digest) ? null : await ofAddress(addressBlock(clientAddress));
      if (counted?.outcome === 'refused') return counted;
      const userId = await creatorId();
      validTokens.delete(digest);
      if (userId === null) return counted ?? (await ofAddress(addressBlock(clientAddress)));
      if (validTokens.size >= MOST_VALID_TOKENS) validTokens.delete(validTokens.values().next().value ?? '');
      validTokens.add(digest);
      return await ofUser(userId);
    },
    countBadSignature: async (clientAddress) => await badSignatures(addressBlock(clientAddress)),
  };
}
