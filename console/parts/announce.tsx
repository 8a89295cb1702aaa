import { type RefObject, useLayoutEffect } from 'react';

/** Leaves time for a more detailed notice to appear, and for a dialog to close. */
const WAIT_MS = 200;

let timer: ReturnType<typeof setTimeout> | undefined;

/**
 * The text that screen readers announce. The live region exists before its text: a region that appears together with
 * its text is often not announced.
 */
export function Announcements() {
  return <div className="announcements" role="status" />;
}

/** For results of an action that are only visible on the page, such as a new row. */
export function announce(text: string): void {
  clearTimeout(timer);
  for (const region of regions()) region.textContent = '';
  timer = setTimeout(() => {
    // Screen readers ignore what is behind an open dialog.
    const within = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document;
    const region = within.querySelector('.announcements');
    if (region !== null) region.textContent = text;
  }, WAIT_MS);
}

/** Cancels a pending announcement: a notice is announced on its own. */
export function announceNothing(): void {
  clearTimeout(timer);
}

function regions(): readonly Element[] {
  return [...document.querySelectorAll('.announcements')];
}

/** For a form or button that may disappear while it has the focus, together with its row or in favour of a notice. */
export function useKeptFocus(place: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const shown = place.current;
    return () => {
      // Checked while the element is still in the document.
      if (shown?.contains(document.activeElement)) queueMicrotask(keepFocus);
    };
  }, [place]);
}

/** Moves the focus to the heading if the element that had it is gone, such as a form that was sent. */
export function keepFocus(): void {
  if (document.activeElement !== document.body && document.activeElement !== null) return;
  const heading = [...document.querySelectorAll<HTMLElement>('dialog[open] h2, main h1')].at(-1);
  heading?.focus({ preventScroll: true });
}
