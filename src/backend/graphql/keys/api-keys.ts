import { lockCompanyRow } from '../../../domain/accounts/company.ts';
import { findMembers } from '../../../domain/accounts/members.ts';
import type { User } from '../../../domain/accounts/user.ts';
import { dropAnswersOfKeys } from '../../../domain/answer-cache/answer-cache.ts';
import { openUserAccount } from '../../../domain/credits/ledger/user-account.ts';
import {
  type ApiKey,
  type KeyStatus,
  keyStatus,
  STREAM_USAGE_CHUNKS,
  type StreamUsageChunk,
} from '../../../domain/keys/api-key.ts';
import { listKeys, revokeKey, rotateKey } from '../../../domain/keys/key-lifecycle.ts';
import { mintKey } from '../../../domain/keys/mint-key.ts';
import type { Transaction } from '../../../ports/database.ts';
import { member } from '../access.ts';
import { holdKeysToCeiling } from '../accounts/ceilings.ts';
import { creditsOrNull, microFrom } from '../amounts.ts';
import { currentMember } from '../billing/user-credits.ts';
import { badInput, conflict, notFound } from '../errors.ts';
import { bounded, boundedOrNull, idOf } from '../input.ts';
import { aliasNames } from '../models/model-aliases.ts';
import type { FieldSize } from '../query-cost.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    ApiKey: ApiKey;
    MintedApiKey: { readonly rawKey: string; readonly apiKey: ApiKey };
  }
  interface SchemaScalars {
    ApiKeyStatus: KeyStatus;
    StreamUsageChunk: StreamUsageChunk;
    KeyPayer: 'COMPANY' | 'USER';
  }
}

const apiKeyObjects: Declaration = (builder) => {
  builder.enumType('ApiKeyStatus', { values: ['LIVE', 'REVOKED', 'EXPIRED'] as const });
  builder.enumType('StreamUsageChunk', {
    description: 'The last chunk of a stream, which has its usage.',
    values: {
      [STREAM_USAGE_CHUNKS[0]]: {
        description:
          'Included in every stream; with an empty choice if the client did not send `stream_options.include_usage: true`.',
      },
      [STREAM_USAGE_CHUNKS[1]]: {
        description: 'A stream shows it only where the client sent `stream_options.include_usage: true`.',
      },
    } as const,
  });
  builder.enumType('KeyPayer', {
    values: {
      COMPANY: { description: 'The balance of the company.' },
      USER: { description: 'The credit balance of a member.' },
    },
  });
  builder.objectType('ApiKey', {
    description: 'A key without its secret.',
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name'),
      prefix: t.exposeString('prefix'),
      lastFour: t.exposeString('lastFour'),
      scopes: t.stringList({ resolve: (key) => [...key.scopes] }),
      models: t.stringList({
        description: 'The aliases it may call.',
        resolve: async (key, _args, context) => [...(key.models ?? (await aliasNames(context)))],
      }),
      allModels: t.boolean({
        description: 'True if it has no allowlist: it may call every alias, including later ones.',
        resolve: ({ models }) => models === null,
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
        description: 'Who created it. Null if it was created on the command line.',
        load: loadMembers,
        resolve: (key) => key.createdBy,
      }),
      lastUsedAt: t.expose('lastUsedAt', { type: 'DateTime', nullable: true }),
      rotatedFromId: t.exposeID('rotatedFromId', { nullable: true }),
      monthlySpendingLimit: t.float({
        nullable: true,
        description: 'In credits. Null: no limit.',
        resolve: (key) => creditsOrNull(key.monthlySpendingLimitMicro),
      }),
      maxCallsInFlight: t.exposeInt('maxCallsInFlight', { nullable: true }),
      streamUsageChunk: t.expose('streamUsageChunk', {
        type: 'StreamUsageChunk',
        nullable: true,
        description: 'Null is the gateway’s setting, STREAM_USAGE_CHUNK.',
      }),
      project: t.exposeString('project', {
        nullable: true,
        description: 'What its calls are for; `usage` and budgets can be by project.',
      }),
      cacheTtlSeconds: t.exposeInt('cacheTtlSeconds', {
        nullable: true,
        description:
          'How long answers to its calls are cached where the call does not say so with `x-turnpike-cache`; null is not at all.',
      }),
      logPayloads: t.exposeBoolean('logPayloads', {
        description:
          'Whether prompts and answers of its calls are stored: redacted, encrypted, for admins alone.',
      }),
      version: t.exposeInt('version', { description: 'One more with every change; for `ifVersion`.' }),
      payer: t.field({
        type: 'KeyPayer',
        description: 'The balance that pays for its calls. It cannot be changed; a rotated key has the same.',
        resolve: ({ payerUserId }) => (payerUserId === null ? 'COMPANY' : 'USER'),
      }),
      payerUser: t.loadable({
        type: 'Member',
        nullable: true,
        description: 'The user whose balance it is, if the payer is USER.',
        load: loadMembers,
        resolve: (key) => key.payerUserId,
      }),
    }),
  });
  builder.objectType('MintedApiKey', {
    fields: (t) => ({
      rawKey: t.exposeString('rawKey', { description: 'Shown only once.' }),
      apiKey: t.expose('apiKey', { type: 'ApiKey' }),
    }),
  });
};

/** One statement for all keys of a response. */
async function loadMembers(ids: string[], context: RequestContext): Promise<(User | null)[]> {
  const { companyId } = await member(context);
  const found = await findMembers(context.parts.database, companyId, ids);
  const byId = new Map(found.map((user) => [user.id, user]));
  return ids.map((id) => byId.get(id) ?? null);
}

const apiKeys: Declaration = (builder) =>
  builder.queryField('apiKeys', (t) =>
    t.field({
      extensions: { maxRows: 400 } satisfies FieldSize,
      type: ['ApiKey'],
      description: 'The company’s keys of every status, newest first, at most 1,000.',
      authScopes: { companyAdmin: true },
      async resolve(_root, _args, context) {
        const { companyId } = await member(context);
        return [...(await listKeys(context.parts.database, companyId))];
      },
    }),
  );

/** G-19: the raw key is returned only here. */
const createApiKey: Declaration = (builder) => {
  const input = builder.inputType('CreateApiKeyInput', {
    fields: (t) => ({
      name: t.string({ required: true }),
      scopes: t.stringList({ description: 'Default: inference:chat, inference:parse, usage:read.' }),
      models: t.stringList({ description: 'The aliases it may call. Omitted: all of them.' }),
      requestsPerMinute: t.int({ description: 'Default: 600.' }),
      tokensPerMinute: t.int({ description: 'Default: 2,000,000. Cached tokens are given back.' }),
      expiresAt: t.field({ type: 'DateTime' }),
      monthlySpendingLimit: t.float({ description: 'In credits.' }),
      maxCallsInFlight: t.int(),
      streamUsageChunk: t.field({
        type: 'StreamUsageChunk',
        description: 'Omitted: the gateway’s setting STREAM_USAGE_CHUNK.',
      }),
      project: t.string({ description: 'The project of its calls, at most 64 characters.' }),
      cacheTtlSeconds: t.int({
        description:
          'Caches responses for this many seconds and returns them for identical requests. Omitted: no caching.',
      }),
      logPayloads: t.boolean({ description: 'Stores prompts and answers of its calls; off by default.' }),
      payer: t.field({
        type: 'KeyPayer',
        description: 'The balance that pays for its calls. Default: COMPANY.',
      }),
      payerUserId: t.id({
        description: 'If the payer is USER: the member whose balance it is. Default: the caller.',
      }),
    }),
  });
  builder.mutationField('createApiKey', (t) =>
    t.field({
      type: 'MintedApiKey',
      authScopes: { companyAdmin: true },
      args: { input: t.arg({ type: input, required: true }) },
      async resolve(_root, { input: params }, context) {
        const { clock, secrets } = context.parts;
        const { companyId, id: createdBy } = await member(context);
        const spending = params.monthlySpendingLimit ?? null;
        const payerUserId = payerOf(params, createdBy);
        const key = {
          ...params,
          payerUserId,
          name: bounded('line', 'input.name', params.name),
          scopes: boundedOrNull('words', 'input.scopes', params.scopes),
          models: boundedOrNull('words', 'input.models', params.models),
          project: boundedOrNull('line', 'input.project', params.project),
          monthlySpendingLimitMicro:
            spending === null ? null : microFrom('input.monthlySpendingLimit', spending),
          knownModels: await aliasNames(context),
          companyId,
          createdBy,
        };
        return await recordedChange(context, async ({ transaction, record }) => {
          if (payerUserId !== null) await openPayer(transaction, { userId: payerUserId, companyId });
          const minted = await mintKey({ database: transaction, secrets, clock }, key);
          if (minted.outcome === 'invalid') throw badInput(keyInputField(minted.field), minted.message);
          if (minted.outcome === 'no-such-company') throw notFound('company');
          await holdKeysToCeiling(context, transaction, companyId, { isRotation: false });
          const { id, name, scopes, logPayloads } = minted.key;
          const details = { name, scopes, logPayloads, ...(payerUserId === null ? {} : { payerUserId }) };
          await record({ action: 'key.minted', objectKind: 'api-key', objectId: id, details });
          return { rawKey: minted.rawKey, apiKey: minted.key };
        });
      },
    }),
  );
};

/** Null if the company pays. */
function payerOf(
  {
    payer,
    payerUserId,
  }: {
    readonly payer?: 'COMPANY' | 'USER' | null | undefined;
    readonly payerUserId?: string | null | undefined;
  },
  callerId: string,
): string | null {
  if (payer === 'USER') return idOf('member', payerUserId ?? callerId);
  if (payerUserId == null) return null;
  throw badInput('input.payerUserId', 'it needs the payer USER');
}

/**
 * Under the lock that a removal of the payer takes: either the removal revokes the new key, or the key is refused. Without
 * it a key would outlive its payer.
 */
async function openPayer(
  transaction: Transaction,
  payer: { readonly userId: string; readonly companyId: string },
): Promise<void> {
  await lockCompanyRow(transaction, payer.companyId);
  await currentMember(transaction, payer.companyId, payer.userId);
  if (await openUserAccount(transaction, payer)) return;
  throw conflict('The credit account of this person belongs to another company.');
}

/** G-22; G-19: the raw key is returned only here. */
const rotateApiKey: Declaration = (builder) =>
  builder.mutationField('rotateApiKey', (t) =>
    t.field({
      type: 'MintedApiKey',
      description: 'Creates a key with the same settings. The old key stays valid until it is revoked.',
      authScopes: { companyAdmin: true },
      args: {
        id: t.arg.id({ required: true }),
        expiresAt: t.arg({
          type: 'DateTime',
          description:
            'Until when the new key is valid; null is no end. Left out, it expires when the old key does: give it when you ' +
            'rotate a key because it is about to expire.',
        }),
      },
      async resolve(_root, args, context) {
        const { clock, secrets } = context.parts;
        const { companyId, id: createdBy } = await member(context);
        const keyId = idOf('API key', args.id);
        return await recordedChange(context, async ({ transaction, record }) => {
          // A removal that revokes the keys of its member must see the new one, or leave none to rotate.
          await lockCompanyRow(transaction, companyId);
          const old = { companyId, keyId, createdBy, expiresAt: args.expiresAt };
          const rotated = await rotateKey({ database: transaction, secrets, clock }, old);
          if (rotated.outcome === 'no-such-key') throw notFound('API key');
          if (rotated.outcome === 'invalid') throw badInput(rotated.field, rotated.message);
          if (rotated.outcome === 'not-live') {
            throw conflict(`This key is ${rotated.status.toLowerCase()}: create a new one instead.`);
          }
          await holdKeysToCeiling(context, transaction, companyId, { isRotation: true });
          const { id, name } = rotated.key;
          const details = { name, rotatedFromId: keyId, expiresAt: isoOrNull(rotated.key.expiresAt) };
          await record({ action: 'key.rotated', objectKind: 'api-key', objectId: id, details });
          return { rawKey: rotated.rawKey, apiKey: rotated.key };
        });
      },
    }),
  );

const revokeApiKey: Declaration = (builder) =>
  builder.mutationField('revokeApiKey', (t) =>
    t.field({
      type: 'ApiKey',
      description:
        'Calls with the key are answered with 401 within a second on every process. Repeating it is not an error.',
      authScopes: { companyAdmin: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { clock } = context.parts;
        const { companyId } = await member(context);
        const keyId = idOf('API key', args.id);
        return await recordedChange(context, async ({ database, sharedState, record }) => {
          const revoked = await revokeKey({ database, sharedState, clock }, { companyId, keyId });
          if (revoked.outcome === 'no-such-key') throw notFound('API key');
          await dropAnswersOfKeys(database, companyId, [keyId]);
          const details = { name: revoked.key.name };
          await record({ action: 'key.revoked', objectKind: 'api-key', objectId: keyId, details });
          return revoked.key;
        });
      },
    }),
  );

export function isoOrNull(moment: Date | null): string | null {
  return moment?.toISOString() ?? null;
}

/** The input field of a key setting, for error messages. */
export function keyInputField(setting: string): string {
  return `input.${setting === 'monthlySpendingLimitMicro' ? 'monthlySpendingLimit' : setting}`;
}

export const apiKeyDeclarations: readonly Declaration[] = [
  apiKeyObjects,
  apiKeys,
  createApiKey,
  rotateApiKey,
  revokeApiKey,
];
