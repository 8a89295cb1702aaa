import { changeRole as change } from '../../../domain/accounts/members.ts';
import { member } from '../access.ts';
import { idOf } from '../bounded-input.ts';
import { memberChanged } from '../member-changed.ts';
import { recordedChange } from '../recorded-change.ts';
import type { Declaration } from '../schema-builder.ts';

export const changeRole: Declaration = (builder) =>
  builder.mutationField('changeRole', (t) =>
    t.field({
      type: 'Member',
      description: 'The last admin of a company stays one.',
      authScopes: { companyAdmin: true },
      args: { userId: t.arg.id({ required: true }), role: t.arg({ type: 'Role', required: true }) },
      async resolve(_root, { userId: wantedId, role }, context) {
        const { companyId } = await member(context);
        const userId = idOf('member', wantedId);
        const now = new Date(context.parts.clock.now());
        return await recordedChange(context, async ({ transaction, record }) => {
          const changed = memberChanged(await change(transaction, { companyId, userId, now, role }));
          const details = { email: changed.email, role };
          await record({ action: 'member.role-changed', objectKind: 'user', objectId: userId, details });
          return changed;
        });
      },
    }),
  );
