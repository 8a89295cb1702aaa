import { useState } from 'react';
import { Notice } from './page.tsx';

/**
 * The version that a form started with. It is sent with the save, which is refused if another tab or user has saved
 * meanwhile, so that neither overwrites the other.
 */
export function useFirstVersion(version: number): { readonly first: number; readonly isOld: boolean } {
  const [first] = useState(version);
  return { first, isOld: first !== version };
}

/** Shown as soon as the page learns of the change, before anything is sent. */
export function ChangedSince({ what, load }: { what: string; load(): void }) {
  return (
    <Notice mood="warn">
      <p>
        {what} was changed in another tab or by another person while you were editing. What you typed can no
        longer be saved over it: copy what you need, and load the newer version.
      </p>
      <button type="button" className="little" onClick={load}>
        Load the newer version
      </button>
    </Notice>
  );
}
