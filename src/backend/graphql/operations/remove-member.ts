import { removeMember as remove } from '../../../domain/accounts/members.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { memberChanged } from '../member-changed.ts';
import { recordedChange } from '../recorded-change.ts';
import type { Declaration } from '../schema-builder.ts';

export const removeMember: Declaration = (builder) =>
  builder.mutationField('removeMember', (t) =>
    t.boolean({
      description: 'The person loses access at once. The last admin of a company cannot be removed.',
      authScopes: { companyAdmin: true },
      args: { userId: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const userId = idOf('member', args.userId);
        const now = new Date(context.parts.clock.now());
        await recordedChange(context, async ({ transaction, record }) => {
          const { email } = memberChanged(await remove(transaction, { companyId, userId, now }));
          const details = { email };
          await record({ action: 'member.removed', objectKind: 'user', objectId: userId, details });
        });
        return true;
      },
    }),
  );
