const QUESTION = 'What you typed here is not saved. Leave without saving it?';

/** Whether a form that guards its input contains something that was not sent. */
function hasUnsaved(): boolean {
  return document.querySelector('form[data-guards][data-touched]') !== null;
}

/**
 * Asks before a link, the back button, a reload or closing the tab discards unsent input. Must be called before other
 * listeners are added.
 */
export function guardUnsaved(): void {
  let here = location.href;
  addEventListener('beforeunload', (event) => {
    if (hasUnsaved()) event.preventDefault();
  });
  addEventListener('popstate', (event) => {
    const isSamePage = new URL(here).pathname === location.pathname;
    if (!isSamePage && hasUnsaved() && !confirm(QUESTION)) {
      event.stopImmediatePropagation();
      history.pushState(null, '', here);
    }
    here = location.href;
  });
  document.addEventListener(
    'click',
    (event) => {
      here = location.href;
      const link = event.target instanceof Element ? event.target.closest('a[href]') : null;
      if (!(link instanceof HTMLAnchorElement) || event.ctrlKey || event.metaKey || event.shiftKey) return;
      // A link within the form is its Cancel.
      const leaves = link.origin === location.origin && link.pathname !== location.pathname;
      if (!leaves || link.closest('form') !== null || !hasUnsaved() || confirm(QUESTION)) return;
      event.preventDefault();
      event.stopPropagation();
    },
    { capture: true },
  );
}
