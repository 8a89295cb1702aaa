import type { Profile } from './talent.ts';

/**
 * What of the evidence still holds after a profile was edited by hand: the places of values that are the same under
 * the same path. The others were typed by a person, and stand nowhere in the text. Null where nothing is left.
 */
export function keptEvidence(
  evidence: readonly unknown[] | null,
  before: Profile | null,
  after: Profile,
): readonly unknown[] | null {
  if (evidence === null || before === null) return null;
  const kept = evidence.filter((one) => {
    const path = pathOf(one);
    if (path === null) return false;
    const value = valueAt(before, path);
    return value !== undefined && value !== null && value === valueAt(after, path);
  });
  return kept.length === 0 ? null : kept;
}

function pathOf(evidence: unknown): string | null {
  if (typeof evidence !== 'object' || evidence === null || !('path' in evidence)) return null;
  return typeof evidence.path === 'string' ? evidence.path : null;
}

/** `work[0].position`: undefined where there is nothing. */
function valueAt(profile: Profile, path: string): unknown {
  let value: unknown = profile;
  for (const step of path.split(/[.[\]]+/).filter((one) => one !== '')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[step];
  }
  return value;
}
