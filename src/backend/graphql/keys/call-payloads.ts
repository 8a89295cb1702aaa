import { dropAnswersOf } from '../../../domain/answer-cache/answer-cache.ts';
import {
  type CallPayload,
  changePayloadSettings,
  erasePayloads,
  findPayloadSettings,
  type PayloadSettings,
  readPayload,
} from '../../../domain/call-payloads/call-payloads.ts';
import { member } from '../access.ts';
import { badInput } from '../errors.ts';
import { bounded, boundedOrNull } from '../input.ts';
import { recordedChange } from '../recorded-change.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    CallPayload: CallPayload;
    PayloadSettings: PayloadSettings;
  }
}

const payloadObjects: Declaration = (builder) => {
  builder.objectType('CallPayload', {
    description:
      'Prompt and answer of a call whose key has `logPayloads`: redacted, and cut to PAYLOAD_MAX_BYTES.',
    fields: (t) => ({
      endpoint: t.exposeString('endpoint'),
      request: t.exposeString('request', { description: 'The body of the request.' }),
      response: t.exposeString('response', {
        nullable: true,
        description: 'The response; for a stream, its events combined. Null if there was none.',
      }),
      requestTruncated: t.exposeBoolean('isRequestCut'),
      responseTruncated: t.exposeBoolean('isResponseCut'),
      storedAt: t.expose('storedAt', { type: 'DateTime' }),
      expiresAt: t.expose('expiresAt', { type: 'DateTime' }),
    }),
  });
  builder.objectType('PayloadSettings', {
    description: 'How prompts and answers of keys with `logPayloads` are stored.',
    fields: (t) => ({
      payloadRetentionDays: t.exposeInt('retentionDays'),
      maxRetentionDays: t.int({
        description: 'The maximum that the operator permits. With 0, nothing is stored.',
        resolve: (_settings, _args, { parts }) => parts.payloads.maxRetentionDays,
      }),
      redactionPatterns: t.stringList({ resolve: ({ redactionPatterns }) => [...redactionPatterns] }),
      redactedKinds: t.stringList({
        description: 'What is redacted for all companies: email, phone, card, secret.',
        resolve: (_settings, _args, { parts }) => [...parts.payloads.redacts],
      }),
      maxBytes: t.int({
        description: 'Of a request, and of a response.',
        resolve: (_settings, _args, { parts }) => parts.payloads.maxBytes,
      }),
    }),
  });
};

const callPayload: Declaration = (builder) =>
  builder.queryField('callPayload', (t) =>
    t.field({
      type: 'CallPayload',
      nullable: true,
      description:
        'What was stored of a call, by its request id; the newest where several have it. Every view is in the audit log.',
      authScopes: { companyAdmin: true },
      args: { requestId: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        const { answerCipher: cipher, clock } = context.parts;
        const { companyId } = await member(context);
        const requestId = bounded('line', 'requestId', args.requestId);
        return await recordedChange(context, async ({ transaction, record, nothingChanged }) => {
          const found = await readPayload({ cipher, clock }, transaction, companyId, requestId);
          if (found === null) nothingChanged();
          else await record({ action: 'payload.viewed', objectKind: 'call', objectId: requestId });
          return found;
        });
      },
    }),
  );

const erase: Declaration = (builder) =>
  builder.mutationField('erasePayloads', (t) =>
    t.int({
      description:
        'Erases stored prompts and answers of a request or of an end user, and cached answers of the same. Returns how many calls.',
      authScopes: { companyAdmin: true },
      args: { requestId: t.arg.string(), endUser: t.arg.string() },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const which = {
          requestId: boundedOrNull('line', 'requestId', args.requestId),
          endUser: boundedOrNull('line', 'endUser', args.endUser),
        };
        if (which.requestId === null && which.endUser === null) {
          throw badInput(
            'requestId',
            'give the request id or the end user whose prompts and answers are erased',
          );
        }
        return await recordedChange(context, async ({ transaction, record }) => {
          const erased = await erasePayloads(transaction, companyId, which);
          const cached = await dropAnswersOf(transaction, companyId, which);
          // The audit log must not name an end user whose data was erased.
          const objectId = which.requestId ?? 'end user';
          const details = { byEndUser: which.endUser !== null, erased, cached };
          await record({ action: 'payloads.erased', objectKind: 'call', objectId, details });
          return erased;
        });
      },
    }),
  );

const payloadSettings: Declaration = (builder) => {
  builder.queryField('payloadSettings', (t) =>
    t.field({
      type: 'PayloadSettings',
      authScopes: { companyAdmin: true },
      async resolve(_root, _args, context) {
        const { database, payloads } = context.parts;
        const { companyId } = await member(context);
        const found = await findPayloadSettings(database, payloads, [companyId]);
        return found.get(companyId) ?? { retentionDays: payloads.retentionDays, redactionPatterns: [] };
      },
    }),
  );
  builder.mutationField('setPayloadSettings', (t) =>
    t.field({
      type: 'PayloadSettings',
      description:
        'Omitted fields are unchanged. A shorter retention also applies to what is already stored; patterns apply to future calls.',
      authScopes: { companyAdmin: true },
      args: {
        payloadRetentionDays: t.arg.int(),
        redactionPatterns: t.arg.stringList({
          description: 'Texts to remove, at most 50; * matches any characters of one word.',
        }),
      },
      async resolve(_root, { payloadRetentionDays, redactionPatterns }, context) {
        const { companyId } = await member(context);
        const patterns = boundedOrNull('words', 'redactionPatterns', redactionPatterns);
        const changes = {
          ...(payloadRetentionDays == null ? {} : { retentionDays: payloadRetentionDays }),
          ...(patterns === null ? {} : { redactionPatterns: patterns }),
        };
        return await recordedChange(context, async ({ transaction, record }) => {
          const { payloads } = context.parts;
          const changed = await changePayloadSettings(transaction, payloads, companyId, changes);
          if (changed.outcome === 'invalid') {
            const field = changed.field === 'retentionDays' ? 'payloadRetentionDays' : changed.field;
            throw badInput(field, changed.message);
          }
          // Patterns may contain names of people, so the audit log has only their number.
          const { retentionDays, redactionPatterns: all } = changed.settings;
          const details = { payloadRetentionDays: retentionDays, redactionPatterns: all.length };
          await record({
            ...{ action: 'payload-settings.changed', objectKind: 'company', objectId: companyId, details },
          });
          return changed.settings;
        });
      },
    }),
  );
};

export const callPayloadDeclarations: readonly Declaration[] = [
  payloadObjects,
  callPayload,
  erase,
  payloadSettings,
];
