import { signedIn } from '../access.ts';
import type { Declaration } from '../schema-builder.ts';

export const whoAmI: Declaration = (builder) =>
  builder.queryField('whoAmI', (t) =>
    t.field({
      type: 'WhoAmI',
      authScopes: { signedIn: true },
      resolve: (_root, _args, context) => signedIn(context),
    }),
  );
