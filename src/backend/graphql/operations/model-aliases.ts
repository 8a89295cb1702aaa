import { ALIAS_NAMES, aliasOf } from '../../../domain/models/aliases.ts';
import type { Declaration } from '../schema-builder.ts';

export const modelAliases: Declaration = (builder) =>
  builder.queryField('modelAliases', (t) =>
    t.field({
      type: ['ModelAlias'],
      description: 'The names by which models are called, and to which keys can be limited.',
      authScopes: { signedIn: true },
      resolve: (_root, _args, { parts }) =>
        ALIAS_NAMES.map(({ name, kind }) => ({ name, kind, alias: aliasOf(parts.aliasPrefix, name) })),
    }),
  );
