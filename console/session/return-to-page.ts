const NAME = 'return-to';

/** Called before this tab leaves for the identity provider, which redirects back to the start page. */
export function comeBackHere(): void {
  sessionStorage.setItem(NAME, location.pathname === '/' ? '/' : location.pathname + location.search);
}

/**
 * Returns to the page from which this tab went to the identity provider. After a refused sign-in the page with the
 * reason stays. The result is whether the tab may have signed in there.
 */
export function returnToPage(): boolean {
  const page = sessionStorage.getItem(NAME);
  sessionStorage.removeItem(NAME);
  if (!page?.startsWith('/') || location.pathname !== '/' || location.search !== '') return false;
  if (page !== '/') history.replaceState(null, '', page);
  return true;
}
