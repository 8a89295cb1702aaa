import {
  createServiceToken as createToken,
  listServiceTokens,
  MOST_SERVICE_TOKENS,
  revokeServiceToken as revokeToken,
  SERVICE_SCOPES,
  type ServiceToken,
  type ServiceTokenStatus,
  serviceTokenStatus,
} from '../../../domain/accounts/service-tokens.ts';
import { freshCode, member } from '../access.ts';
import { badInput, conflict, notFound } from '../errors.ts';
import { bounded, idOf } from '../input.ts';
import { recordedChange } from '../recorded-change.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    ServiceToken: ServiceToken;
    CreatedServiceToken: { readonly rawToken: string; readonly serviceToken: ServiceToken };
  }
  interface SchemaScalars {
    ServiceTokenStatus: ServiceTokenStatus;
  }
}

const serviceTokenObjects: Declaration = (builder) => {
  builder.enumType('ServiceTokenStatus', { values: ['LIVE', 'REVOKED', 'EXPIRED'] as const });
  builder.objectType('ServiceToken', {
    description:
      'A token with which a program can call GraphQL for the company within its scopes, without the secret itself.',
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      scopes: t.stringList({ resolve: ({ scopes }) => [...scopes] }),
      status: t.field({
        type: 'ServiceTokenStatus',
        resolve: (token, _args, { parts }) => serviceTokenStatus(token, parts.clock.now()),
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime' }),
      lastUsedAt: t.expose('lastUsedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'To the minute.',
      }),
    }),
  });
  builder.objectType('CreatedServiceToken', {
    fields: (t) => ({
      rawToken: t.exposeString('rawToken', { description: 'Shown only once.' }),
      serviceToken: t.expose('serviceToken', { type: 'ServiceToken' }),
    }),
  });
};

const serviceTokens: Declaration = (builder) =>
  builder.queryField('serviceTokens', (t) =>
    t.field({
      type: ['ServiceToken'],
      description: 'The company’s service tokens of every status, newest first, at most 1,000.',
      authScopes: { companyAdmin: true },
      async resolve(_root, _args, context) {
        const { companyId } = await member(context);
        return [...(await listServiceTokens(context.parts.database, companyId))];
      },
    }),
  );

const serviceTokenScopes: Declaration = (builder) =>
  builder.queryField('serviceTokenScopes', (t) =>
    t.stringList({
      description: 'The scopes that a service token can have.',
      authScopes: { companyAdmin: true },
      resolve: () => [...SERVICE_SCOPES],
    }),
  );

const createServiceToken: Declaration = (builder) =>
  builder.mutationField('createServiceToken', (t) =>
    t.field({
      type: 'CreatedServiceToken',
      description:
        'Creates a token for automation. It has at most the permissions of the caller and loses them when the caller does. Requires a recent two-factor code if two-factor authentication is set up.',
      authScopes: { companyAdmin: true },
      args: {
        name: t.arg.string({ required: true }),
        scopes: t.arg.stringList({ required: true }),
        expiresAt: t.arg({ type: 'DateTime', description: 'Within five years. Default: in one year.' }),
      },
      async resolve(_root, args, context) {
        const { companyId, id: createdBy } = await member(context);
        await freshCode(context);
        const params = {
          ...{ companyId, createdBy },
          name: bounded('line', 'name', args.name),
          scopes: bounded('words', 'scopes', args.scopes),
          expiresAt: args.expiresAt ?? null,
        };
        return await recordedChange(context, async ({ transaction, record }) => {
          const created = await createToken(context.parts, transaction, params);
          if (created.outcome === 'invalid') throw badInput(created.field, created.message);
          if (created.outcome === 'too-many') {
            throw conflict(`A company has at most ${MOST_SERVICE_TOKENS} service tokens: revoke one first.`);
          }
          const { id, name, scopes, expiresAt } = created.serviceToken;
          const details = { name, scopes, expiresAt: expiresAt.toISOString() };
          const object = { objectKind: 'service-token', objectId: id };
          await record({ action: 'service-token.created', ...object, details });
          return { rawToken: created.rawToken, serviceToken: created.serviceToken };
        });
      },
    }),
  );

const revokeServiceToken: Declaration = (builder) =>
  builder.mutationField('revokeServiceToken', (t) =>
    t.field({
      type: 'ServiceToken',
      description:
        'Requests with the token are refused immediately on every process. Repeating it is not an error.',
      authScopes: { companyAdmin: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const id = idOf('service token', args.id);
        const now = new Date(context.parts.clock.now());
        return await recordedChange(context, async ({ transaction, record, nothingChanged }) => {
          const revoked = await revokeToken(transaction, { companyId, id, now });
          if (revoked === null) throw notFound('service token');
          const { serviceToken, wasLive } = revoked;
          const object = { objectKind: 'service-token', objectId: id };
          if (!wasLive) nothingChanged();
          else
            await record({
              action: 'service-token.revoked',
              ...object,
              details: { name: serviceToken.name },
            });
          return serviceToken;
        });
      },
    }),
  );

export const serviceTokenDeclarations: readonly Declaration[] = [
  serviceTokenObjects,
  serviceTokens,
  serviceTokenScopes,
  createServiceToken,
  revokeServiceToken,
];
