import type { ApiKey, StreamUsageChunk } from '../../../domain/keys/api-key.ts';
import { changeKey } from '../../../domain/keys/key-lifecycle.ts';
import { member } from '../access.ts';
import { creditsOrNull, microFrom } from '../amounts.ts';
import { badInput, changedSince, conflict, notFound } from '../errors.ts';
import { bounded, boundedOrNull, idOf } from '../input.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';
import { isoOrNull, keyInputField } from './api-keys.ts';

const updateApiKey: Declaration = (builder) => {
  const limits = builder.inputType('ApiKeyLimitsInput', {
    description: 'Omitted fields are unchanged. Null removes optional values.',
    fields: (t) => ({
      requestsPerMinute: t.int(),
      tokensPerMinute: t.int(),
      monthlySpendingLimit: t.float({ description: 'In credits.' }),
      maxCallsInFlight: t.int(),
    }),
  });
  const input = builder.inputType('UpdateApiKeyInput', {
    description:
      'What is left out stays. Null removes an expiry, the two limits that a key need not have, its project, its ' +
      'own choice about the usage chunk, and its caching.',
    fields: (t) => ({
      name: t.string(),
      requestsPerMinute: t.int(),
      tokensPerMinute: t.int(),
      monthlySpendingLimit: t.float({ description: 'In credits.' }),
      maxCallsInFlight: t.int(),
      expiresAt: t.field({ type: 'DateTime' }),
      streamUsageChunk: t.field({ type: 'StreamUsageChunk' }),
      project: t.string({ description: 'Applies to future calls. Earlier calls are not reassigned.' }),
      cacheTtlSeconds: t.int(),
      logPayloads: t.boolean({
        description: 'Applies to future calls. What is already stored is kept until it expires.',
      }),
    }),
  });
  builder.mutationFields((t) => ({
    updateApiKey: t.field({
      type: 'ApiKey',
      description:
        'Takes effect within a second on every process. A revoked or expired key cannot be changed.',
      authScopes: { companyAdmin: true },
      args: {
        id: t.arg.id({ required: true }),
        input: t.arg({ type: input, required: true }),
        ifVersion: t.arg.int({
          description:
            'The version that this change is based on. Refused with CONFLICT if the key was changed since.',
        }),
      },
      resolve: (_root, args, context) => changeApiKey(context, args, 'key.changed'),
    }),
    updateApiKeyLimits: t.field({
      type: 'ApiKey',
      description: 'The limits alone; `updateApiKey` changes them too. In force within a second everywhere.',
      authScopes: { companyAdmin: true },
      args: { id: t.arg.id({ required: true }), input: t.arg({ type: limits, required: true }) },
      resolve: (_root, args, context) => changeApiKey(context, args, 'key.limits-changed'),
    }),
  }));
};

interface RequestedChanges {
  readonly name?: string | null | undefined;
  readonly requestsPerMinute?: number | null | undefined;
  readonly tokensPerMinute?: number | null | undefined;
  readonly monthlySpendingLimit?: number | null | undefined;
  readonly maxCallsInFlight?: number | null | undefined;
  readonly expiresAt?: Date | null | undefined;
  readonly streamUsageChunk?: StreamUsageChunk | null | undefined;
  readonly project?: string | null | undefined;
  readonly cacheTtlSeconds?: number | null | undefined;
  readonly logPayloads?: boolean | null | undefined;
}

interface RequestedChange {
  readonly id: string;
  readonly input: RequestedChanges;
  readonly ifVersion?: number | null | undefined;
}

async function changeApiKey(
  context: RequestContext,
  { id, input: params, ifVersion }: RequestedChange,
  action: 'key.changed' | 'key.limits-changed',
): Promise<ApiKey> {
  const { clock } = context.parts;
  const { companyId } = await member(context);
  const keyId = idOf('API key', id);
  const spending = params.monthlySpendingLimit;
  const changes = {
    companyId,
    keyId,
    ifVersion: ifVersion ?? undefined,
    name: boundedOrNull('line', 'input.name', params.name) ?? undefined,
    expiresAt: params.expiresAt,
    requestsPerMinute: params.requestsPerMinute ?? undefined,
    tokensPerMinute: params.tokensPerMinute ?? undefined,
    maxCallsInFlight: params.maxCallsInFlight,
    streamUsageChunk: params.streamUsageChunk,
    project: params.project == null ? params.project : bounded('line', 'input.project', params.project),
    cacheTtlSeconds: params.cacheTtlSeconds,
    logPayloads: params.logPayloads ?? undefined,
    monthlySpendingLimitMicro:
      typeof spending === 'number' ? microFrom('input.monthlySpendingLimit', spending) : spending,
  };
  return await recordedChange(context, async ({ transaction, record }) => {
    const changed = await changeKey(transaction, clock, changes);
    if (changed.outcome === 'no-such-key') throw notFound('API key');
    if (changed.outcome === 'changed-since') throw changedSince('key');
    if (changed.outcome === 'not-live') throw conflict('This key is revoked or expired: create a new one.');
    if (changed.outcome === 'invalid') throw badInput(keyInputField(changed.field), changed.message);
    const { name, requestsPerMinute, tokensPerMinute, maxCallsInFlight, expiresAt } = changed.key;
    const { streamUsageChunk, project, cacheTtlSeconds, logPayloads } = changed.key;
    const monthlySpendingLimit = creditsOrNull(changed.key.monthlySpendingLimitMicro);
    const limits = { requestsPerMinute, tokensPerMinute, maxCallsInFlight, monthlySpendingLimit };
    const details = {
      name,
      ...limits,
      expiresAt: isoOrNull(expiresAt),
      streamUsageChunk,
      project,
      cacheTtlSeconds,
      logPayloads,
    };
    await record({ action, objectKind: 'api-key', objectId: keyId, details });
    return changed.key;
  });
}

export const apiKeyChangeDeclarations: readonly Declaration[] = [updateApiKey];
