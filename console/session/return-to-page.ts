const NAME = 'return-to';

/** Called before this tab leaves for the identity provider, which redirects back to the start page. */
export function comeBackHere(): void {
  if (location.pathname !== '/') sessionStorage.setItem(NAME, location.pathname + location.search);
}

/**
 * Returns to the page from which this tab went to the identity provider. After a refused sign-in the page with the
 * reason stays.
 */
export function returnToPage(): void {
  const page = sessionStorage.getItem(NAME);
  sessionStorage.removeItem(NAME);
  if (page?.startsWith('/') && location.pathname === '/' && location.search === '') {
    history.replaceState(null, '', page);
  }
}
