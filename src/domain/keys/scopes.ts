export const SCOPES = ['inference:chat', 'inference:parse', 'usage:read', 'jobs:read'] as const;

export type Scope = (typeof SCOPES)[number];

/** What a key has when nobody chose: `jobs:read` is given only where it was asked for (G-21). */
export const DEFAULT_SCOPES: readonly Scope[] = ['inference:chat', 'inference:parse', 'usage:read'];

export function isScope(text: string): text is Scope {
  return SCOPES.some((scope) => scope === text);
}
