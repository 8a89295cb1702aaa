import type { Log } from '../../../ports/log.ts';
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

/** Names of the aliases whose calls answer 503: neither they nor their fallbacks have a target. */
export function aliasesWithoutTargets(aliases: readonly Alias[]): readonly string[] {
  const byName = new Map(aliases.map((alias) => [alias.alias, alias]));
  const models = { find: (name: string) => byName.get(name) ?? null };
  return aliases
    .filter((alias) => [alias, ...fallbacksOf(models, alias)].every(({ targets }) => targets.length === 0))
    .map(({ alias }) => alias);
}

/** Logs aliases without targets, at the start and when more of them lose theirs. */
export function createWithoutTargetsReport(log: Pick<Log, 'warn'>): (aliases: readonly Alias[]) => void {
  let reported: ReadonlySet<string> = new Set();
  return (all) => {
    const aliases = aliasesWithoutTargets(all);
    const isKnown = aliases.every((alias) => reported.has(alias));
    reported = new Set(aliases);
    if (isKnown) return;
    log.warn('these models have no provider and answer 503: set MODEL_CONFIG or turnpike set-alias', {
      aliases,
    });
  };
}

/** A call with the company's own key falls back only to aliases with own keys. An unusable own key serves no call. */
export function mayServe({ ownKey }: Alias, other: Alias): boolean {
  return other.ownKey === undefined ? ownKey === undefined : other.ownKey.problem === null;
}
