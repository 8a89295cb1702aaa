import { removeMember } from '../../../domain/accounts/members.ts';
import { member } from '../access.ts';
import { memberChanged } from '../member-changed.ts';
import { recordedChange } from '../recorded-change.ts';
import type { Declaration } from '../schema-builder.ts';

export const leaveCompany: Declaration = (builder) =>
  builder.mutationField('leaveCompany', (t) =>
    t.boolean({
      description:
        'The caller leaves, and their account is closed. The last admin of a company cannot leave.',
      authScopes: { member: true },
      async resolve(_root, _args, context) {
        const { companyId, id: userId } = await member(context);
        const now = new Date(context.parts.clock.now());
        await recordedChange(context, async ({ transaction, record }) => {
          memberChanged(await removeMember(transaction, { companyId, userId, now }));
          await record({ action: 'member.left', objectKind: 'user', objectId: userId });
        });
        return true;
      },
    }),
  );
