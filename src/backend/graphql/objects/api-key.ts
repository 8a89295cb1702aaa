import { findMembers } from '../../../domain/accounts/members.ts';
import type { User } from '../../../domain/accounts/user.ts';
import { keyStatus } from '../../../domain/keys/api-key.ts';
import { ALIAS_NAMES, aliasOf } from '../../../domain/models/aliases.ts';
import { member } from '../access.ts';
import { creditsOrNull } from '../credits.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

export const apiKeyObjects: Declaration = (builder) => {
  builder.enumType('ApiKeyStatus', { values: ['LIVE', 'REVOKED', 'EXPIRED'] as const });
  builder.objectType('ApiKey', {
    description: 'Everything about a key but the key.',
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      prefix: t.exposeString('prefix'),
      lastFour: t.exposeString('lastFour'),
      scopes: t.stringList({ resolve: (key) => [...key.scopes] }),
      models: t.stringList({
        description: 'The aliases it may call.',
        resolve: (key, _args, { parts }) =>
          key.models === null
            ? ALIAS_NAMES.map(({ name }) => aliasOf(parts.aliasPrefix, name))
            : [...key.models],
      }),
      requestsPerMinute: t.exposeInt('requestsPerMinute'),
      tokensPerMinute: t.exposeInt('tokensPerMinute'),
      status: t.field({
        type: 'ApiKeyStatus',
        resolve: (key, _args, { parts }) => keyStatus(key, parts.clock.now()),
      }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime', nullable: true }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
      createdBy: t.loadable({
        type: 'Member',
        nullable: true,
        description: 'Who minted it; null for one of the command line.',
        load: loadMembers,
        resolve: (key) => key.createdBy,
      }),
      lastUsedAt: t.expose('lastUsedAt', { type: 'DateTime', nullable: true }),
      rotatedFromId: t.exposeID('rotatedFromId', { nullable: true }),
      monthlySpendingLimit: t.float({
        nullable: true,
        description: 'In credits; null is no limit.',
        resolve: (key) => creditsOrNull(key.monthlySpendingLimitMicro),
      }),
      maxCallsInFlight: t.exposeInt('maxCallsInFlight', { nullable: true }),
    }),
  });
  builder.objectType('MintedApiKey', {
    fields: (t) => ({
      rawKey: t.exposeString('rawKey', { description: 'Shown now and never again.' }),
      apiKey: t.expose('apiKey', { type: 'ApiKey' }),
    }),
  });
};

/** One statement for all keys of an answer. */
async function loadMembers(ids: string[], context: RequestContext): Promise<(User | null)[]> {
  const { companyId } = await member(context);
  const found = await findMembers(context.parts.database, companyId, ids);
  const byId = new Map(found.map((user) => [user.id, user]));
  return ids.map((id) => byId.get(id) ?? null);
}
