import type { Claim, LimitState } from '../../ports/shared-state.ts';
import {
  type CallCeilings,
  createStatePlace,
  HELD_MS,
  NO_LIMIT,
  type StatePlaceParts,
  windowClaim,
} from './claims.ts';

export type CompanyLimitName =
  | 'company requests'
  | 'company tokens'
  | 'company calls in flight'
  | 'company documents';

/** Counters of the company, beside those of its keys, which carry the key's id. */
const COMPANY_REQUESTS = 'rpm';
export const COMPANY_TOKENS = 'tpm';
export const COMPANY_CALLS = 'calls';
const DOCUMENTS = 'documents';
const DAY_MS = 86_400_000;

interface CountedCall {
  readonly callId: string;
  readonly tokens: number;
  readonly isDocument: boolean;
  /** 0 if it has already been counted. */
  readonly requests: 0 | 1;
}

/** The claims after those of the key, in the order of `companyLimits`. */
export function addCompanyClaims(
  claims: Claim[],
  { requestsPerMinute, tokensPerMinute, callsInFlight, documentsPerDay }: CallCeilings,
  { callId, tokens, isDocument, requests }: CountedCall,
): void {
  if (requestsPerMinute !== null) claims.push(windowClaim(COMPANY_REQUESTS, requestsPerMinute, requests));
  if (tokensPerMinute !== null) {
    // A call without tokens is never refused for tokens.
    claims.push(windowClaim(COMPANY_TOKENS, tokens === 0 ? NO_LIMIT : tokensPerMinute, tokens));
  }
  if (callsInFlight !== null) {
    const entry = { entry: callId, amount: 1, ttlMs: HELD_MS, rule: 'fits' } as const;
    claims.push({ kind: 'held', name: COMPANY_CALLS, limit: callsInFlight, ...entry });
  }
  if (documentsPerDay !== null && isDocument) claims.push(documentClaim(documentsPerDay, requests));
}

/** The ceilings that apply to a call, in the order of its claims. */
export function companyLimits(ceilings: CallCeilings, isDocument: boolean): readonly CompanyLimitName[] {
  const { requestsPerMinute, tokensPerMinute, callsInFlight, documentsPerDay } = ceilings;
  return [
    ...(requestsPerMinute === null ? [] : ['company requests' as const]),
    ...(tokensPerMinute === null ? [] : ['company tokens' as const]),
    ...(callsInFlight === null ? [] : ['company calls in flight' as const]),
    ...(documentsPerDay === null || !isDocument ? [] : ['company documents' as const]),
  ];
}

function documentClaim(limit: number, amount: number): Claim {
  return { kind: 'window', name: DOCUMENTS, amount, limit, windowMs: DAY_MS };
}

type CountedDocument =
  | { readonly outcome: 'counted' }
  | { readonly outcome: 'refused'; readonly retryAfterMs: number };

/** A company's current use of its ceilings on calls. */
interface CallUse {
  readonly requestsPerMinute: number;
  readonly tokensPerMinute: number;
  readonly callsInFlight: number;
  readonly documentsPerDay: number;
}

export interface CompanyCounters {
  /** Counts a document that does not come by a call, with the same counter. It counts even if reading it fails. */
  countDocument(companyId: string, documentsPerDay: number): Promise<CountedDocument>;
  /** Only limits with a ceiling are counted. */
  look(companyId: string): Promise<CallUse>;
}

export function createCompanyCounters(parts: StatePlaceParts): CompanyCounters {
  const place = createStatePlace(parts);
  return {
    async countDocument(companyId, documentsPerDay) {
      const { reservation } = await place.reserve(companyId, [documentClaim(documentsPerDay, 1)]);
      if (reservation.outcome !== 'refused') return { outcome: 'counted' };
      return { outcome: 'refused', retryAfterMs: reservation.retryAfterMs ?? DAY_MS };
    },
    async look(companyId) {
      const probe = { entry: 'probe', amount: 0, ttlMs: 1, rule: 'fits' } as const;
      const { reservation } = await place.reserve(companyId, [
        windowClaim(COMPANY_REQUESTS, NO_LIMIT, 0),
        windowClaim(COMPANY_TOKENS, NO_LIMIT, 0),
        { kind: 'held', name: COMPANY_CALLS, limit: NO_LIMIT, ...probe },
        documentClaim(NO_LIMIT, 0),
      ]);
      const limitStates: readonly LimitState[] =
        reservation.outcome === 'level-unknown' ? [] : reservation.limitStates;
      const [requests = 0, tokens = 0, calls = 0, documents = 0] = limitStates.map(({ used }) => used);
      return {
        ...{ requestsPerMinute: requests, tokensPerMinute: tokens },
        ...{ callsInFlight: calls, documentsPerDay: documents },
      };
    },
  };
}
