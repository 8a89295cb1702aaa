import type { Alias } from '../aliases.ts';

/** More than anyone configures; limits the work for one call. */
const MOST_FALLBACKS = 8;

const NONE: readonly Alias[] = [];

/**
 * The aliases that answer if the first cannot, in order: its fallback, then the fallback of that one, and so on. The
 * list ends at an alias of another kind, a missing one or a repeated one.
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

/** A call with the company's own key falls back only to aliases with own keys. An unusable own key serves no call. */
export function mayServe({ ownKey }: Alias, other: Alias): boolean {
  return other.ownKey === undefined ? ownKey === undefined : other.ownKey.problem === null;
}
