/** The name of a model target's breaker: its provider's host. Null for the embedded models, which need none. */
export function serviceOf({ baseUrl }: { readonly baseUrl: string | null }): string | null {
  // Not cut out of the text: what stands before an @ must not be shown in readiness.
  return baseUrl === null ? null : new URL(baseUrl).host;
}
