import type { CreditHolds, Payer } from '../../domain/credits/holds/holds.ts';
import { estimateUsage } from '../../domain/limits/claims.ts';
import { type CallSize, type HostedPlan, holdsFor, totalTokens } from '../../domain/model-calls/paid-call.ts';
import type { Alias } from '../../domain/models/aliases.ts';
import type { RequestedTiers } from '../../domain/models/tiers/tiers.ts';
import type { ModelBodyFields } from '../json/request-body.ts';
import type { ParseFields } from './read-parse-body.ts';
import type { Route } from './routes.ts';

/** Counting tokens uses none, and providers do not charge for it. */
export function isFree({ endpoint }: Pick<Route, 'endpoint'>): boolean {
  return endpoint === 'messages/count_tokens' || endpoint === 'responses/input_tokens';
}

export function sizeOf(
  route: Pick<Route, 'endpoint'>,
  bytes: Uint8Array,
  fields: ModelBodyFields | ParseFields,
): CallSize {
  if ('input' in fields) return fields.size;
  const { endpoint } = route;
  if (isFree(route)) return NOTHING_USED;
  const { maxTokens, choices, prompts, refersOutside } = fields;
  const isAnswered = endpoint !== 'embeddings';
  return { bytes: bytes.length, maxTokens, choices, prompts, refersOutside, isAnswered };
}

const NOTHING_USED: CallSize = {
  ...{ bytes: 0, maxTokens: null, choices: 1, prompts: 1 },
  ...{ refersOutside: false, isAnswered: false },
};

/** Counted against the tokens per minute until the real usage is known. */
export function estimateOf({ bytes, isAnswered, maxTokens, choices, prompts }: CallSize): number {
  return totalTokens(estimateUsage(bytes, isAnswered ? maxTokens : 0, choices * prompts));
}

interface CallToHold {
  readonly route: Pick<Route, 'endpoint'>;
  readonly alias: Alias;
  readonly size: CallSize;
  readonly hosted: HostedPlan | null;
  readonly fallbacks: readonly Alias[] | undefined;
  readonly tiers: RequestedTiers | null;
  readonly listsFallbacks: boolean;
}

/** A balance does not block calls that cost nothing. */
export function holdsOf(
  { holds }: { readonly holds: CreditHolds },
  payer: Payer,
  { route, ...call }: CallToHold,
) {
  return isFree(route) ? [] : holdsFor(holds, payer, call);
}
