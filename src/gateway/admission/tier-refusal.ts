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
      /** The tiers that affect the price; null if none do, as for nearly every call. */
      readonly tiers: Tiers | null;
      /** The fallbacks that have a price for these tiers. */
      readonly fallbacks: readonly Alias[] | undefined;
    };

/**
 * Refuses tiers that cost the operator more than the price covers (priority, fast, a geography), unless the alias has a
 * factor for them. If the alias has factors, a call without such fields is charged by the tiers that its provider reports.
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

/** For a call whose body names no tiers or is no longer known. */
export const NO_TIERS: Tiers = {};

function refusalOf(field: TierField): Refusal {
  const usual = plainTiers(field).map((value) => `'${value}'`);
  const message = `'${field}' names a tier that has no price for this model. Leave it out or use ${listed(usual)}, or ask the operator of the gateway to set a price factor for it.`;
  return { name: 'invalidRequest', message, param: field };
}

function listed(names: readonly string[]): string {
  return names.length === 1 ? (names[0] as string) : `one of ${names.join(', ')}`;
}
