import type { Alias } from '../aliases.ts';

/** More than anybody writes down; it bounds what one call may come to. */
const MOST_FALLBACKS = 8;

const NONE: readonly Alias[] = [];

/**
 * The aliases that answer where the first cannot, in their order: its own fallback, then that one's, and so on. An alias of
 * another kind, one that is missing and one that was there before end the list.
 */
export function fallbacksOf(models: { find(alias: string): Alias | null }, first: Alias): readonly Alias[] {
  let name = first.routing?.fallback ?? null;
  if (name === null) return NONE;
  const found: Alias[] = [];
  while (name !== null && found.length < MOST_FALLBACKS) {
    const next: Alias | null = models.find(name);
    if (next === null || next.kind !== first.kind) break;
    if (next.alias === first.alias || found.some(({ alias }) => alias === next.alias)) break;
    found.push(next);
    name = next.routing?.fallback ?? null;
  }
  return found.filter((other) => mayServe(first, other));
}

/** A call with the company's own key goes on only with own keys, and no call with one that is of no use. */
export function mayServe({ ownKey }: Alias, other: Alias): boolean {
  return other.ownKey === undefined ? ownKey === undefined : other.ownKey.problem === null;
}
