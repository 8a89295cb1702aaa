import { type TargetTest, testTarget } from '../../../domain/model-calls/test-target.ts';
import { aliasOf, DEFAULT_BOUNDS, nameOfAlias } from '../../../domain/models/aliases.ts';
import { percentOfFee } from '../../../domain/models/byok-fee.ts';
import { wireOf } from '../../../domain/models/providers.ts';
import { hostOf, type OwnKeyPlace, readOwnKeyPlaces } from '../../../domain/own-keys/own-key-places.ts';
import {
  deleteOwnKey,
  listOwnKeys,
  MOST_OWN_KEYS,
  type OwnKey,
  openStoredKey,
  placeFor,
  problemWithKey,
  setOwnKey,
} from '../../../domain/own-keys/own-keys.ts';
import type { UpstreamTarget } from '../../../ports/model-upstream.ts';
import { countAttempt, freshCode, member } from '../access.ts';
import { badInput, conflict, notFound } from '../errors.ts';
import { bounded, boundedOrNull, idOf } from '../input.ts';
import type { FieldSize } from '../query-cost.ts';
import { recordedChange } from '../recorded-change.ts';
import type { GraphqlParts } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    OwnProviderKey: OwnKey;
    OwnProviderKeyOption: OwnKeyPlace;
  }
}

const MOST_OPTIONS = 200;

const objects: Declaration = (builder) => {
  builder.objectType('OwnProviderKey', {
    description: 'A company’s own provider key, without the key itself.',
    fields: (t) => ({
      id: t.exposeID('id'),
      alias: t.string({ resolve: ({ alias }, _args, { parts }) => aliasOf(parts.aliasPrefix, alias) }),
      host: t.string({ resolve: ({ origin }) => hostOf(origin) }),
      lastFour: t.exposeString('lastFour', {
        description: 'The last four characters of the key. Empty if the key is short.',
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
      changedAt: t.expose('changedAt', { type: 'DateTime', description: 'When it was last replaced.' }),
    }),
  });
  builder.objectType('OwnProviderKeyOption', {
    description:
      'A model for which the operator allows companies to use their own provider keys, and a provider that serves it.',
    fields: (t) => ({
      alias: t.string({ resolve: ({ alias }, _args, { parts }) => aliasOf(parts.aliasPrefix, alias) }),
      provider: t.exposeString('provider', { description: 'The kind of the provider, such as openai.' }),
      host: t.exposeString('host', { description: 'The host that the key is sent to.' }),
      feePercent: t.float({
        description: 'What calls with an own key cost, in percent of the model’s price.',
        resolve: ({ feeMillionths }) => percentOfFee(feeMillionths),
      }),
    }),
  });
};

const queries: Declaration = (builder) => {
  builder.queryField('ownProviderKeys', (t) =>
    t.field({
      type: ['OwnProviderKey'],
      extensions: { maxRows: MOST_OWN_KEYS } satisfies FieldSize,
      description: 'The keys that the company has stored for its calls; at most 100.',
      authScopes: { companyAdmin: true },
      async resolve(_root, _args, context) {
        const { companyId } = await member(context);
        return [...(await listOwnKeys(context.parts.database, companyId))];
      },
    }),
  );
  builder.queryField('ownProviderKeyOptions', (t) =>
    t.field({
      type: ['OwnProviderKeyOption'],
      extensions: { maxRows: MOST_OPTIONS } satisfies FieldSize,
      description: 'For which models and providers the company may store keys of its own.',
      authScopes: { companyAdmin: true },
      resolve: async (_root, _args, { parts }) =>
        (await readOwnKeyPlaces(parts.database)).slice(0, MOST_OPTIONS),
    }),
  );
};

const changes: Declaration = (builder) => {
  const input = builder.inputType('OwnProviderKeyInput', {
    fields: (t) => ({
      alias: t.string({ required: true, description: 'The model, as clients name it.' }),
      host: t.string({ description: 'Required if the model has several providers.' }),
      apiKey: t.string({ required: true, description: 'Stored encrypted and never shown again.' }),
    }),
  });
  builder.mutationField('setOwnProviderKey', (t) =>
    t.field({
      type: 'OwnProviderKey',
      description:
        'Stores or replaces the company’s own provider key for a model. Within a second, the company’s calls to that model use only its own keys and never the operator’s.',
      authScopes: { companyAdmin: true },
      args: { input: t.arg({ type: input, required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        await freshCode(context);
        const { secrets, cipher, clock } = context.parts;
        const { name, host } = placeIn(context.parts, args.input);
        const apiKey = bounded('technical', 'input.apiKey', args.input.apiKey);
        const params = { companyId, alias: name, host, apiKey, now: new Date(clock.now()) };
        return await recordedChange(context, async ({ database, sharedState, record }) => {
          const set = await setOwnKey({ database, sharedState, secrets, cipher }, params);
          if (set.outcome === 'not-allowed') throw notAllowed();
          if (set.outcome === 'wrong-host') throw badInput('input.host', set.problem);
          if (set.outcome === 'wrong-key') throw badInput('input.apiKey', set.problem);
          if (set.outcome === 'too-many') throw conflict(set.problem);
          const { key, isNew } = set;
          const action = isNew ? 'own-key.stored' : 'own-key.replaced';
          await record({ action, ...objectOf(key), details: detailsOf(context.parts, key) });
          return key;
        });
      },
    }),
  );
  builder.mutationField('deleteOwnProviderKey', (t) =>
    t.field({
      type: 'OwnProviderKey',
      description:
        'Deletes a key. Once a model has no own key left, the company’s calls of it use the operator’s at the full price, within a second.',
      authScopes: { companyAdmin: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        await freshCode(context);
        const id = idOf('provider key', args.id);
        return await recordedChange(context, async ({ database, sharedState, record }) => {
          const deleted = await deleteOwnKey({ database, sharedState }, { companyId, id });
          if (deleted === null) throw notFound('provider key');
          const details = detailsOf(context.parts, deleted);
          await record({ action: 'own-key.deleted', ...objectOf(deleted), details });
          return deleted;
        });
      },
    }),
  );
};

const test: Declaration = (builder) => {
  const input = builder.inputType('OwnProviderKeyTestInput', {
    fields: (t) => ({
      alias: t.string({ required: true }),
      host: t.string({ description: 'Required if the model has several providers.' }),
      apiKey: t.string({ description: 'Default: the stored one.' }),
    }),
  });
  builder.mutationField('testOwnProviderKey', (t) =>
    t.field({
      type: 'AliasTargetTest',
      description:
        'Makes one small call with a key, stored or not. The provider bills a few tokens to the key’s account; no credits are charged.',
      authScopes: { companyAdmin: true },
      args: { input: t.arg({ type: input, required: true }) },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        await freshCode(context);
        await countAttempt(context, 'own-key-test', companyId);
        const { parts } = context;
        const { name, host } = placeIn(parts, args.input);
        const found = placeFor(await readOwnKeyPlaces(parts.database), { alias: name, host });
        if (found.outcome === 'not-allowed') throw notAllowed();
        if (found.outcome === 'wrong-host') throw badInput('input.host', found.problem);
        const { place } = found;
        const given = boundedOrNull('technical', 'input.apiKey', args.input.apiKey);
        const problem = given === null ? null : problemWithKey(given);
        if (problem !== null) throw badInput('input.apiKey', problem);
        const apiKey = given ?? (await storedKey(parts, companyId, place));
        const target = testedTarget(place, apiKey);
        const tested = await testTarget(
          { upstream: parts.providers, clock: parts.clock },
          target,
          place.kind,
        );
        return shownTest(tested, target, aliasOf(parts.aliasPrefix, name));
      },
    }),
  );
};

function placeIn(
  { aliasPrefix }: GraphqlParts,
  given: { readonly alias: string; readonly host?: string | null | undefined },
): { readonly name: string; readonly host: string | null } {
  const name = nameOfAlias(aliasPrefix, bounded('line', 'input.alias', given.alias));
  if (name === null) throw notAllowed();
  return { name, host: boundedOrNull('line', 'input.host', given.host) };
}

/** The same message for a model that does not exist. */
function notAllowed() {
  return badInput('input.alias', 'the operator allows no own provider keys for this model');
}

async function storedKey(
  { database, cipher }: GraphqlParts,
  companyId: string,
  { alias, origin }: OwnKeyPlace,
): Promise<string> {
  const stored = await openStoredKey({ database, cipher }, { companyId, alias, origin }).catch(() => {
    throw conflict('The stored key cannot be decrypted with MASTER_KEY. Store it again.');
  });
  if (stored === null) throw badInput('input.apiKey', 'no key is stored for it: give one');
  return stored;
}

/** The alias's first target at the host, as a call of the company would use it. */
function testedTarget({ targets, kind }: OwnKeyPlace, apiKey: string): UpstreamTarget {
  const [stored] = targets;
  if (stored === undefined) throw notAllowed();
  const { id, baseUrl, model } = stored;
  const wire = wireOf({ ...stored, headers: {} }, DEFAULT_BOUNDS[kind].maxOutputTokens);
  return { id, baseUrl, model, apiKey, ...(wire === null ? {} : { wire }) };
}

/** Companies see models by alias only; the provider's model name is visible to operators. */
function shownTest(tested: TargetTest, { model, baseUrl }: UpstreamTarget, alias: string): TargetTest {
  if (tested.ok) return { ...tested, message: 'The provider accepted the key, and the model answered.' };
  const message = tested.message.replaceAll(model, alias);
  return { ...tested, message: baseUrl === null ? message : message.replaceAll(baseUrl, hostOf(baseUrl)) };
}

function objectOf({ id }: OwnKey) {
  return { objectKind: 'own-provider-key', objectId: id };
}

function detailsOf({ aliasPrefix }: GraphqlParts, { alias, origin, lastFour }: OwnKey) {
  return { alias: aliasOf(aliasPrefix, alias), host: hostOf(origin), lastFour };
}

export const ownKeyDeclarations: readonly Declaration[] = [objects, queries, changes, test];
