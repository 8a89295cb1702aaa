import { createContext, use } from 'react';

/** What the row of a list is called, for the buttons in it. */
export const RowName = createContext('');

/** The name of a button for those who do not see its row: “Revoke” of twenty rows is twenty different buttons. */
export function useButtonName(words: string): { readonly 'aria-label'?: string } {
  const row = use(RowName);
  return row === '' ? {} : { 'aria-label': `${words} ${row}` };
}
