import type { ChangedMember } from '../../domain/accounts/members.ts';
import type { User } from '../../domain/accounts/user.ts';
import { conflict, notFound } from './refusals.ts';

/** The member who was changed, or the refusal that says why not. */
export function memberChanged(changed: ChangedMember): User {
  switch (changed.outcome) {
    case 'changed':
      return changed.member;
    case 'no-such-member':
      throw notFound('member');
    case 'last-admin':
      throw conflict('This is the company’s last admin: make somebody else an admin first.');
  }
}
