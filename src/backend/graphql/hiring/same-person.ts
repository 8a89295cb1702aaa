import {
  mergeTalents,
  readDuplicates,
  readPossibleDuplicates,
  separateTalents,
} from '../../../domain/talents/same-person.ts';
import type { Talent } from '../../../domain/talents/talent.ts';
import { member } from '../access.ts';
import { conflict, notFound } from '../errors.ts';
import { idOf } from '../input.ts';
import type { FieldSize } from '../query-cost.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

const linkedFields: Declaration = (builder) => {
  builder.objectFields('Talent', (t) => ({
    duplicates: t.loadableList({
      type: 'Talent',
      extensions: { maxRows: 100 } satisfies FieldSize,
      description: 'The newest talents that are duplicates of this one.',
      load: loadDuplicates,
      resolve: ({ id }) => id,
    }),
    possibleDuplicates: t.loadableList({
      type: 'Talent',
      extensions: { maxRows: 20 } satisfies FieldSize,
      description:
        'Talents with the same e-mail address or telephone number that may be the same person. `mergeTalents` or `separateTalents` decides.',
      load: loadPossibleDuplicates,
      resolve: ({ id }) => id,
    }),
  }));
};

/** One statement for all talents of a response. */
async function loadDuplicates(ids: string[], context: RequestContext): Promise<Talent[][]> {
  const { companyId } = await member(context);
  const found = await readDuplicates(context.parts.database, companyId, ids);
  return ids.map((id) => [...(found.get(id) ?? [])]);
}

/** One statement for all talents of a response. */
async function loadPossibleDuplicates(ids: string[], context: RequestContext): Promise<Talent[][]> {
  const { companyId } = await member(context);
  const found = await readPossibleDuplicates(context.parts.database, companyId, ids);
  return ids.map((id) => [...(found.get(id) ?? [])]);
}

async function pairOf(context: RequestContext, ids: { readonly id: string; readonly other: string }) {
  const { companyId, id: decidedBy } = await member(context);
  return { companyId, decidedBy, talentId: idOf('talent', ids.id), otherId: idOf('talent', ids.other) };
}

const mergeTwo: Declaration = (builder) =>
  builder.mutationField('mergeTalents', (t) =>
    t.field({
      type: 'Talent',
      description:
        'Makes a talent, with its own duplicates, a duplicate of another one, which is matched instead. No profile is replaced: what the duplicate has besides is proposed. An erasure or an export of either takes both.',
      authScopes: { companyAdmin: true },
      args: {
        id: t.arg.id({ required: true }),
        into: t.arg.id({ required: true, description: 'The talent that is matched.' }),
      },
      async resolve(_root, { id, into }, context) {
        const pair = await pairOf(context, { id, other: into });
        return await recordedChange(context, async ({ transaction, record }) => {
          const merged = await mergeTalents(transaction, context.parts.clock, pair);
          if (merged.outcome === 'no-such-talent') throw notFound('talent');
          if (merged.outcome === 'not-possible') throw conflict(merged.message);
          const details = { into: pair.otherId };
          const object = { objectKind: 'talent', objectId: pair.talentId, details };
          await record({ action: 'talent.merged', ...object });
          return merged.talent;
        });
      },
    }),
  );

const separateTwo: Declaration = (builder) =>
  builder.mutationField('separateTalents', (t) =>
    t.field({
      type: 'Talent',
      description:
        'Records that two talents are different people. A duplicate is a talent of its own again, and the other one has the profile from before it; its versions with contents of the duplicate are emptied.',
      authScopes: { companyAdmin: true },
      args: {
        id: t.arg.id({ required: true }),
        from: t.arg.id({ required: true }),
        keepProfile: t.arg.boolean({
          description:
            'The talent that is matched keeps its present profile: a user has corrected it already.',
        }),
      },
      async resolve(_root, { id, from, keepProfile }, context) {
        const pair = await pairOf(context, { id, other: from });
        return await recordedChange(context, async ({ transaction, record }) => {
          const decision = { ...pair, keepsProfile: keepProfile ?? false };
          const separated = await separateTalents(transaction, context.parts.clock, decision);
          if (separated.outcome === 'no-such-talent') throw notFound('talent');
          if (separated.outcome === 'not-possible') throw conflict(separated.message);
          const details = { from: pair.otherId };
          const object = { objectKind: 'talent', objectId: pair.talentId, details };
          await record({ action: 'talent.separated', ...object });
          return separated.talent;
        });
      },
    }),
  );

export const samePersonDeclarations: readonly Declaration[] = [linkedFields, mergeTwo, separateTwo];
