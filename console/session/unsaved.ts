const UNSAVED = 'What you typed here is not saved. Leave without saving it?';
const SHOWN_ONCE = 'This is the only time that it is shown. Leave without storing it?';
const SENDING = 'Files are still being sent. Leave without sending the rest?';
/** The log-in form that covers a page is not input of the page. */
const TYPED = 'form[data-guards][data-touched], dialog:not(.covering) form[data-touched]';

/**
 * The question before something is lost: unsent input of a form that guards it or that is in a dialog, files that are
 * being sent, or a secret that is shown once. Null if nothing is.
 */
export function questionBeforeLeaving(): string | null {
  if (document.querySelector('[data-shown-once]') !== null) return SHOWN_ONCE;
  if (document.querySelector('[data-sending]') !== null) return SENDING;
  return document.querySelector(TYPED) === null ? null : UNSAVED;
}

function mayLeave(): boolean {
  const question = questionBeforeLeaving();
  return question === null || confirm(question);
}

/**
 * Asks before a link, a button marked as leaving, the back button, a reload or closing the tab discards something. Must
 * be called before other listeners are added.
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
      const place = event.target instanceof Element ? event.target : null;
      if (!(leavesByLink(place, event) || place?.closest('[data-leaves] button')) || mayLeave()) return;
      event.preventDefault();
      event.stopPropagation();
    },
    { capture: true },
  );
}

function leavesByLink(place: Element | null, { ctrlKey, metaKey, shiftKey }: MouseEvent): boolean {
  const link = place?.closest('a[href]');
  if (!(link instanceof HTMLAnchorElement) || ctrlKey || metaKey || shiftKey) return false;
  // A link within the form is its Cancel.
  const isOther = link.origin === location.origin && link.pathname !== location.pathname;
  return isOther && link.closest('form') === null;
}
