import { createContext, use } from 'react';

/** The name of a list's row, for the buttons in it. */
export const RowName = createContext('');

/** Adds the row's name to a button's accessible name, so that the “Revoke” buttons of twenty rows can be distinguished. */
export function useButtonName(words: string): { readonly 'aria-label'?: string } {
  const row = use(RowName);
  return row === '' ? {} : { 'aria-label': `${words} ${row}` };
}
