import type { UpstreamTarget } from '../ports/model-upstream.ts';

/** Models are addressed by alias only (G-16): the provider's model name and address do not reach a client. */
export function withoutProviderNames(text: string, target: UpstreamTarget, alias: string): string {
  const host = target.baseUrl === null ? null : (URL.parse(target.baseUrl)?.host ?? null);
  let clean = text.replaceAll(target.model, alias);
  if (target.baseUrl !== null) clean = clean.replaceAll(target.baseUrl, 'the model');
  if (host !== null) clean = clean.replaceAll(host, 'the model');
  if (target.apiKey !== null) clean = clean.replaceAll(target.apiKey, '[redacted]');
  return clean;
}
