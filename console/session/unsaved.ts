const UNSAVED = 'What you typed here is not saved. Leave without saving it?';
const SHOWN_ONCE = 'This is the only time that it is shown. Leave without storing it?';

/**
 * The question before something is lost: unsent input of a form that guards it, or a secret that is shown once. Null if
 * nothing is.
 */
function questionBeforeLeaving(): string | null {
  if (document.querySelector('[data-shown-once]') !== null) return SHOWN_ONCE;
  return document.querySelector('form[data-guards][data-touched]') === null ? null : UNSAVED;
}

function mayLeave(): boolean {
  const question = questionBeforeLeaving();
  return question === null || confirm(question);
}

/**
 * Asks before a link, the back button, a reload or closing the tab discards unsent input or a secret. Must be called
 * before other listeners are added.
 */
export function guardUnsaved(): void {
  let here = location.href;
  addEventListener('beforeunload', (event) => {
    if (questionBeforeLeaving() !== null) event.preventDefault();
  });
  addEventListener('popstate', (event) => {
    const isSamePage = new URL(here).pathname === location.pathname;
    if (!isSamePage && !mayLeave()) {
      event.stopImmediatePropagation();
      history.pushState(null, '', here);
    }
    here = location.href;
  });
  // Events of the router.
  for (const moved of ['pushState', 'replaceState']) {
    addEventListener(moved, () => {
      here = location.href;
    });
  }
  document.addEventListener(
    'click',
    (event) => {
      const link = event.target instanceof Element ? event.target.closest('a[href]') : null;
      if (!(link instanceof HTMLAnchorElement) || event.ctrlKey || event.metaKey || event.shiftKey) return;
      // A link within the form is its Cancel.
      const leaves = link.origin === location.origin && link.pathname !== location.pathname;
      if (!leaves || link.closest('form') !== null || mayLeave()) return;
      event.preventDefault();
      event.stopPropagation();
    },
    { capture: true },
  );
}
