const NAME = 'return-to';

/** Before this tab leaves for the identity provider, which leads back to the beginning. */
export function comeBackHere(): void {
  if (location.pathname !== '/') sessionStorage.setItem(NAME, location.pathname + location.search);
}

/** Back on the page from which this tab went to the identity provider. A refused sign-in stays where it says so. */
export function returnToPage(): void {
  const page = sessionStorage.getItem(NAME);
  sessionStorage.removeItem(NAME);
  if (page?.startsWith('/') && location.pathname === '/' && location.search === '') {
    history.replaceState(null, '', page);
  }
}
