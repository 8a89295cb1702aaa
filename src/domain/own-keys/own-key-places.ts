import type { Statements } from '../../ports/database.ts';
import { readAliases } from '../models/alias-catalogue.ts';
import type { AliasKind, AliasName } from '../models/aliases.ts';
import type { StoredTarget } from '../models/target.ts';
import { readCatalogue } from '../models/targets.ts';

/** Where a company may use its own key: an alias that allows it, and one of the hosts that serve it. */
export interface OwnKeyPlace {
  /** Without the configured prefix, as aliases are stored. */
  readonly alias: AliasName;
  readonly kind: AliasKind;
  readonly feeMillionths: number;
  readonly origin: string;
  readonly host: string;
  /** The provider's preset; the first one if a host serves several. */
  readonly provider: string;
  /** The alias's targets at this host. */
  readonly targets: readonly StoredTarget[];
}

/** As configured by operators, in the order of aliases and targets. */
export async function readOwnKeyPlaces(statements: Statements): Promise<readonly OwnKeyPlace[]> {
  const allowing = (await readAliases(statements)).filter(
    ({ byokFeeMillionths, retiredAt }) => byokFeeMillionths !== null && retiredAt === null,
  );
  if (allowing.length === 0) return [];
  const { targets } = await readCatalogue(statements);
  const places = new Map<string, OwnKeyPlace>();
  for (const target of targets) {
    const { alias, provider, baseUrl } = target;
    const found = allowing.find(({ name }) => name === alias);
    if (found?.byokFeeMillionths == null) continue;
    const { kind, byokFeeMillionths: feeMillionths } = found;
    const origin = originOf(baseUrl);
    const place = `${alias} ${origin}`;
    const known = places.get(place);
    const first = known ?? {
      alias,
      kind,
      feeMillionths,
      origin,
      host: hostOf(origin),
      provider,
      targets: [],
    };
    places.set(place, { ...first, targets: [...first.targets, target] });
  }
  return [...places.values()];
}

/** Keys are stored per origin: an operator may change the path behind it, and the key is sent to no other host. */
export function originOf(baseUrl: string): string {
  return new URL(baseUrl).origin;
}

export function hostOf(origin: string): string {
  return new URL(origin).host;
}
