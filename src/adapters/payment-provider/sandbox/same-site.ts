/**
 * The sandbox asks nobody for a password, so a page of another site must not be able to click in it. Browsers say
 * where a request comes from; what says nothing is no browser.
 */
export function isFromElsewhere({ headers }: Request, url: URL): boolean {
  const site = headers.get('sec-fetch-site');
  if (site !== null) return site !== 'same-origin' && site !== 'none';
  const origin = headers.get('origin');
  return origin !== null && URL.parse(origin)?.host !== url.host;
}
