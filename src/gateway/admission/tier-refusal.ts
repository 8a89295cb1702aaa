import type { Alias } from '../../domain/models/aliases.ts';
import { plainTiers, type TierField, type Tiers, unpricedTier } from '../../domain/models/tiers/tiers.ts';
import type { ModelBodyFields } from '../json/request-body.ts';
import { isFree } from './call-size.ts';
import type { ParseFields } from './read-parse-body.ts';
import type { Refusal } from './refusals.ts';
import type { Route } from './routes.ts';

interface TieredCall {
  readonly route: Pick<Route, 'endpoint'>;
  readonly alias: Alias;
  readonly fields: ModelBodyFields | ParseFields;
  readonly fallbacks: readonly Alias[] | undefined;
}

type PlannedTiers =
  | { readonly outcome: 'refused'; readonly refusal: Refusal }
  | {
      readonly outcome: 'planned';
      /** What decides on the price besides the tokens; null where nothing does, as for nearly every call. */
      readonly tiers: Tiers | null;
      /** Those that can be charged for it. */
      readonly fallbacks: readonly Alias[] | undefined;
    };

/**
 * Tiers that cost the operator more than the price says (priority, fast, a geography) are refused unless the alias has a factor
 * for them. A call without such fields is charged by what its provider reports, where the alias has factors.
 */
export function planTiers({ route, alias, fields, fallbacks }: TieredCall): PlannedTiers {
  const asked = 'tiers' in fields ? fields.tiers : null;
  const hasFactors =
    alias.priceFactors != null || fallbacks?.some(({ priceFactors }) => priceFactors != null);
  if ((asked === null && hasFactors !== true) || isFree(route))
    return { outcome: 'planned', tiers: null, fallbacks };
  const tiers = asked ?? NO_TIERS;
  const unpriced = unpricedTier(alias, tiers);
  if (unpriced !== null) return { outcome: 'refused', refusal: refusalOf(unpriced) };
  return {
    outcome: 'planned',
    tiers: hasFactors === true ? tiers : null,
    fallbacks: fallbacks?.filter((other) => unpricedTier(other, tiers) === null),
  };
}

/** Of a call whose body says nothing of tiers, or is not known any more. */
export const NO_TIERS: Tiers = {};

function refusalOf(field: TierField): Refusal {
  const usual = plainTiers(field).map((value) => `'${value}'`);
  const message = `'${field}' names a tier that has no price for this model. Leave it out or use ${listed(usual)}, or ask the operator of the gateway to set a price factor for it.`;
  return { name: 'invalidRequest', message, param: field };
}

function listed(names: readonly string[]): string {
  return names.length === 1 ? (names[0] as string) : `one of ${names.join(', ')}`;
}
