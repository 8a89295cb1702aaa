import { type RefObject, useLayoutEffect } from 'react';

/** Long enough for a notice that says more, and for a dialog that closes, to come first. */
const WAIT_MS = 200;

let timer: ReturnType<typeof setTimeout> | undefined;

/** What screen readers read out. A live region is there before its text: what appears together with its text is often not read. */
export function Announcements() {
  return <div className="announcements" role="status" />;
}

/** For what a person did that shows in the page alone, such as a new row. */
export function announce(text: string): void {
  clearTimeout(timer);
  for (const region of regions()) region.textContent = '';
  timer = setTimeout(() => {
    // Behind an open dialog nothing is read.
    const within = [...document.querySelectorAll('dialog[open]')].at(-1) ?? document;
    const region = within.querySelector('.announcements');
    if (region !== null) region.textContent = text;
  }, WAIT_MS);
}

/** A notice is read in its place. */
export function announceNothing(): void {
  clearTimeout(timer);
}

function regions(): readonly Element[] {
  return [...document.querySelectorAll('.announcements')];
}

/** For a form or a button that may go together with its row, or give way to a notice, while it has the focus. */
export function useKeptFocus(place: RefObject<HTMLElement | null>): void {
  useLayoutEffect(() => {
    const shown = place.current;
    return () => {
      // While it is still in the document.
      if (shown?.contains(document.activeElement)) queueMicrotask(keepFocus);
    };
  }, [place]);
}

/** Focus that went with the element that had it, such as a form that was sent: the page's heading takes it. */
export function keepFocus(): void {
  if (document.activeElement !== document.body && document.activeElement !== null) return;
  const heading = [...document.querySelectorAll<HTMLElement>('dialog[open] h2, main h1')].at(-1);
  heading?.focus({ preventScroll: true });
}
