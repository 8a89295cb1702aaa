import type { Statements } from '../../src/ports/database.ts';

export type OpenedUserAccount =
  | { readonly outcome: 'opened' }
  | { readonly outcome: 'open-already' }
  | { readonly outcome: 'no-user' };

/**
 * An account for a user who holds credits of their own. Companies have theirs from the database itself; most users
 * never need one, so theirs is opened by whoever first posts to it.
 */
export async function openUserAccount(statements: Statements, userId: string): Promise<OpenedUserAccount> {
  const rows = await statements.query<{ isUser: boolean; isOpened: boolean }>(
    `with opened as (
       insert into credit_accounts (id, owner) select id, 'USER' from users where id = $1
       on conflict (id) do nothing returning id)
     select exists (select 1 from users where id = $1) as "isUser", exists (select 1 from opened) as "isOpened"`,
    [userId],
  );
  if (rows[0]?.isOpened) return { outcome: 'opened' };
  return { outcome: rows[0]?.isUser ? 'open-already' : 'no-user' };
}
