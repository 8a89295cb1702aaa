import type { Alias } from '../../domain/models/aliases.ts';
import {
  HOUR,
  type PricedField,
  plainTiers,
  type RequestedTiers,
  type Tiers,
  unpricedTiers,
} from '../../domain/models/tiers/tiers.ts';
import {
  UNPRICED_AUDIO,
  type UnpricedField,
  type UnpricedFieldsMode,
} from '../../domain/models/tiers/unpriced-fields.ts';
import type { ModelBodyFields } from '../json/request-body.ts';
import { isFree } from './call-size.ts';
import type { ParseFields } from './read-parse-body.ts';
import type { Refusal } from './refusals.ts';
import type { Route } from './routes.ts';

interface TieredCall {
  readonly route: Pick<Route, 'endpoint'>;
  readonly alias: Alias;
  readonly bytes: Uint8Array;
  readonly fields: ModelBodyFields | ParseFields;
  readonly fallbacks: readonly Alias[] | undefined;
}

type PlannedTiers =
  | { readonly outcome: 'refused'; readonly refusal: Refusal }
  | {
      readonly outcome: 'planned';
      /** The tiers that affect the price; null if none do, as for nearly every call. */
      readonly tiers: RequestedTiers | null;
      /** The fallbacks that have a price for these tiers, as far as the alias has one. */
      readonly fallbacks: readonly Alias[] | undefined;
      /** What is forwarded although the alias has no factor for it. */
      readonly unpriced: readonly UnpricedField[];
    };

/**
 * Tiers that cost the operator more than the price covers (priority, fast, a geography) need a factor of the alias, unless
 * unpriced fields are forwarded. If the alias has factors, a call without such fields is charged by the tiers that its
 * provider reports.
 */
export function planTiers(
  { route, alias, bytes, fields, fallbacks }: TieredCall,
  mode: UnpricedFieldsMode = 'refuse',
): PlannedTiers {
  const requested = 'tiers' in fields ? fields.tiers : null;
  const hasFactors =
    alias.priceFactors != null || fallbacks?.some(({ priceFactors }) => priceFactors != null);
  const mayWrite = 'tiers' in fields && (hasCacheWrites(alias) || fallbacks?.some(hasCacheWrites) === true);
  if ((requested === null && hasFactors !== true && !mayWrite) || isFree(route))
    return { outcome: 'planned', tiers: null, fallbacks, unpriced: NOTHING };
  const tiers = requested ?? NO_TIERS;
  const unpriced = unpricedTiers(alias, tiers);
  // The embedded models, which answer where an alias has no targets, hear nothing: audio costs the operator nothing there.
  const [first] = alias.targets.length > 0 ? unpriced : unpriced.filter((field) => field !== 'modalities');
  if (first !== undefined && mode === 'refuse') return { outcome: 'refused', refusal: refusalOf(first) };
  return {
    outcome: 'planned',
    tiers: pricedTiers(hasFactors === true ? tiers : null, mayWrite && writesForHour(bytes)),
    fallbacks: fallbacks?.filter((other) =>
      unpricedTiers(other, tiers).every((field) => first !== undefined && unpriced.includes(field)),
    ),
    unpriced: unpriced.map((name) =>
      name === 'modalities' ? UNPRICED_AUDIO : { name, kind: 'tier' as const },
    ),
  };
}

const NOTHING: readonly UnpricedField[] = [];

function pricedTiers(tiers: Tiers | null, isForHour: boolean): RequestedTiers | null {
  return isForHour ? { ...tiers, writesForHour: true } : tiers;
}

/** Whether the operator charges for cache writes. Only bodies for such aliases are searched. */
function hasCacheWrites({ prices, priceFactors, ownKey }: Alias): boolean {
  if (ownKey !== undefined) return false;
  return prices[0]?.cacheWriteMicro != null || priceFactors?.cache_write !== undefined;
}

const HOUR_VALUE = new TextEncoder().encode(`"${HOUR}"`);
const LIFETIME = /"ttl"\s*:\s*$/;
/** White space between the name and the value, beyond which nothing is looked for. */
const MOST_SPACE = 64;

/**
 * Whether a body has its provider store parts of the prompt for an hour: `"ttl": "1h"`. Inside of a text the quotes would be
 * escaped. What is held follows from this; the charge follows from it only if the provider does not report it.
 */
function writesForHour(bytes: Uint8Array): boolean {
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = body.indexOf(HOUR_VALUE); at >= 0; at = body.indexOf(HOUR_VALUE, at + 1)) {
    if (LIFETIME.test(body.toString('latin1', Math.max(0, at - MOST_SPACE), at))) return true;
  }
  return false;
}

/** For a call whose body names no tiers or is no longer known. */
export const NO_TIERS: Tiers = {};

function refusalOf(field: PricedField): Refusal {
  if (field === 'modalities') return { name: 'invalidRequest', message: NO_AUDIO, param: field };
  const usual = plainTiers(field).map((value) => `'${value}'`);
  const message = `'${field}' names a tier that has no price for this model. Leave it out or use ${listed(usual)}, or ask the operator of the gateway to set a price factor for it.`;
  return { name: 'invalidRequest', message, param: field };
}

const NO_AUDIO =
  'This model has no price for audio. Send and request text only, or ask the operator of the gateway to set a price factor for audio.';

function listed(names: readonly string[]): string {
  return names.length === 1 ? (names[0] as string) : `one of ${names.join(', ')}`;
}
