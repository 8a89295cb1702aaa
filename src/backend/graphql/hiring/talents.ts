import { LONGEST_PROFILE } from '../../../domain/talents/profile.ts';
import {
  acceptProposal,
  readOpenProposals,
  rejectProposal,
  type TalentProposal,
} from '../../../domain/talents/proposals.ts';
import {
  findTalents,
  listTalents,
  listTalentVersions,
  readTalentText,
  type Talent,
  type TalentStatus,
  type TalentVersion,
} from '../../../domain/talents/talent.ts';
import { changeTalent, createTalent as storeTalent } from '../../../domain/talents/talent-changes.ts';
import { DOCUMENT_LIMITS } from '../../../ports/document-reader.ts';
import { member } from '../access.ts';
import { countDocument, holdStorageToCeiling } from '../accounts/ceilings.ts';
import { badInput, changedSince, notFound } from '../errors.ts';
import { boundedOrNull, idOf, searchArg } from '../input.ts';
import { defineConnection, idCursor, type Page, pageArgs, pageOf } from '../paging.ts';
import type { FieldSize } from '../query-cost.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';
import { documentFrom } from './documents.ts';
import { personalDataDeclarations } from './personal-data.ts';
import { samePersonDeclarations } from './same-person.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    Talent: Talent;
    TalentProposal: TalentProposal;
    ProposedChange: TalentProposal['changes'][number];
    TalentConnection: Page<Talent>;
    TalentVersion: TalentVersion;
  }
  interface SchemaScalars {
    TalentStatus: TalentStatus;
  }
}

const talentObjects: Declaration = (builder) => {
  builder.enumType('TalentStatus', {
    values: {
      PENDING: { description: 'The CV is waiting to be parsed.' },
      READY: { description: 'The profile is ready.' },
      FAILED: { description: 'The CV could not be parsed. See problem.' },
    },
  });
  builder.objectType('Talent', {
    fields: (t) => ({
      id: t.exposeID('id'),
      name: t.exposeString('name', { nullable: true }),
      email: t.exposeString('email', { nullable: true }),
      headline: t.exposeString('headline', { nullable: true }),
      status: t.expose('status', { type: 'TalentStatus' }),
      problem: t.exposeString('problem', { nullable: true, description: 'Why the CV could not be read.' }),
      profile: t.expose('profile', {
        type: 'JSON',
        nullable: true,
        extensions: { maxCharacters: LONGEST_PROFILE } satisfies FieldSize,
        description: 'JSON Resume, with total_months_experience and some more.',
      }),
      evidence: t.expose('evidence', {
        type: 'JSON',
        nullable: true,
        extensions: { maxCharacters: LONGEST_PROFILE } satisfies FieldSize,
        description: 'Where each value is in the text: path, start, end, confidence.',
      }),
      document: t.expose('document', {
        type: 'JSON',
        nullable: true,
        description: 'What kind of document was read: kind, language, confidence, warnings.',
      }),
      engine: t.exposeString('engine', {
        nullable: true,
        description: 'What parsed the CV: model or embedded.',
      }),
      duplicateOf: t.loadable({
        type: 'Talent',
        nullable: true,
        description: 'A duplicate of an earlier talent, which is matched instead.',
        load: loadTalents,
        resolve: ({ duplicateOf }) => duplicateOf,
      }),
      text: t.string({
        nullable: true,
        extensions: { maxCharacters: DOCUMENT_LIMITS.maxCharacters } satisfies FieldSize,
        description: 'What was read out of the CV: the evidence points into it, in UTF-16 code units.',
        async resolve({ id }, _args, context) {
          const { companyId } = await member(context);
          return await readTalentText(context.parts.database, companyId, id);
        },
      }),
      proposal: t.loadable({
        type: 'TalentProposal',
        nullable: true,
        description: 'What a newer CV would change in a profile that a person has edited.',
        load: loadProposals,
        resolve: ({ id }) => id,
      }),
      version: t.exposeInt('version'),
      versions: t.field({
        type: ['TalentVersion'],
        extensions: { maxRows: 100 } satisfies FieldSize,
        description: 'The last 100 versions, newest first.',
        async resolve({ id }, _args, context) {
          const { companyId } = await member(context);
          return [...(await listTalentVersions(context.parts.database, companyId, id))];
        },
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    }),
  });
  builder.objectType('TalentVersion', {
    description: 'A version of a talent: the profile after a change, who made the change, and when.',
    fields: (t) => ({
      version: t.exposeInt('version'),
      what: t.exposeString('what'),
      profile: t.expose('profile', {
        type: 'JSON',
        nullable: true,
        extensions: { maxCharacters: LONGEST_PROFILE } satisfies FieldSize,
      }),
      changedBy: t.exposeID('changedBy', { nullable: true, description: 'Null for the CV worker.' }),
      changedByEmail: t.exposeString('changedByEmail', { nullable: true }),
      changedAt: t.expose('changedAt', { type: 'DateTime' }),
    }),
  });
  builder.objectType('TalentProposal', {
    description: 'Open until it is accepted or rejected, or replaced by a later CV.',
    fields: (t) => ({
      id: t.exposeID('id'),
      fromTalentId: t.exposeID('fromTalentId', { description: 'Whose CV proposes it.' }),
      changes: t.field({ type: ['ProposedChange'], resolve: ({ changes }) => [...changes] }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
    }),
  });
  builder.objectType('ProposedChange', {
    fields: (t) => ({
      field: t.exposeString('field', { description: 'As `work`, or `basics.email`.' }),
      before: t.field({ type: 'JSON', nullable: true, resolve: ({ before }) => before ?? null }),
      after: t.field({ type: 'JSON', nullable: true, resolve: ({ after }) => after ?? null }),
    }),
  });
  defineConnection(builder, 'Talent');
};

/** One statement for all talents of a response. */
async function loadProposals(ids: string[], context: RequestContext): Promise<(TalentProposal | null)[]> {
  const { companyId } = await member(context);
  const open = await readOpenProposals(context.parts.database, companyId, ids);
  return ids.map((id) => open.get(id) ?? null);
}

/** One statement for all talents of a response. */
async function loadTalents(ids: string[], context: RequestContext): Promise<(Talent | null)[]> {
  const { companyId } = await member(context);
  return [...(await findTalents(context.parts.database, companyId, ids))];
}

const talents: Declaration = (builder) =>
  builder.queryField('talents', (t) =>
    t.field({
      type: 'TalentConnection',
      description: 'The company’s talents, newest first.',
      authScopes: { member: true },
      args: {
        first: t.arg.int(),
        after: t.arg.id(),
        status: t.arg({ type: 'TalentStatus' }),
        search: t.arg.string({
          description: 'Words that must all be in the name, headline, address or number.',
        }),
      },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { limit, after } = pageArgs(args);
        const page = {
          ...{ limit: limit + 1, after: idCursor(after) },
          ...{ status: args.status ?? null, words: searchArg(args.search) },
        };
        const rows = await listTalents(context.parts.database, companyId, page);
        return pageOf(rows, limit, ({ id }) => id);
      },
    }),
  );

const talent: Declaration = (builder) =>
  builder.queryField('talent', (t) =>
    t.field({
      type: 'Talent',
      authScopes: { member: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, { id }, context) {
        const { companyId } = await member(context);
        const [found] = await findTalents(context.parts.database, companyId, [idOf('talent', id)]);
        if (found == null) throw notFound('talent');
        return found;
      },
    }),
  );

const createTalent: Declaration = (builder) => {
  const input = builder.inputType('TalentInput', {
    description: 'One of the three: a CV as text or as a file, or a profile in the form of JSON Resume.',
    fields: (t) => ({
      text: t.string(),
      file: t.field({ type: 'FileInput' }),
      profile: t.field({ type: 'JSON' }),
    }),
  });
  builder.mutationField('createTalent', (t) =>
    t.field({
      type: 'Talent',
      description:
        'PENDING until the CV worker has read the CV; READY at once with a profile. The same file again is the same talent.',
      authScopes: { member: true },
      args: { input: t.arg({ type: input, required: true }) },
      async resolve(_root, args, context) {
        const { companyId, id: createdBy } = await member(context);
        const { profile } = args.input;
        const file = documentFrom(args.input);
        const hasProfile = profile !== null && profile !== undefined;
        if ((file === null) !== hasProfile)
          throw badInput('input', 'give a text, a file or a profile: one of them');
        const from = file === null ? { profile } : { file };
        if (file !== null) await countDocument(context, companyId);
        return await recordedChange(context, async ({ transaction, record }) => {
          const created = await storeTalent(transaction, context.parts, { companyId, createdBy, from });
          if (created.outcome === 'invalid') throw badInput('input.profile', created.message);
          if (file !== null && created.isNew) await holdStorageToCeiling(transaction, companyId);
          // No personal data: the audit log is kept when the talent is erased.
          const { talent, isNew } = created;
          const details = { isNew, status: talent.status };
          await record({ action: 'talent.created', objectKind: 'talent', objectId: talent.id, details });
          return talent;
        });
      },
    }),
  );
};

const updateTalent: Declaration = (builder) =>
  builder.mutationField('updateTalent', (t) =>
    t.field({
      type: 'Talent',
      description: 'Replaces the profile. The previous one is stored as a version.',
      authScopes: { member: true },
      args: {
        id: t.arg.id({ required: true }),
        profile: t.arg({ type: 'JSON', required: true }),
        version: t.arg.int({
          description:
            'The version that this change is based on. Refused with CONFLICT if it was changed since. Omitted: overwrites it.',
        }),
      },
      async resolve(_root, args, context) {
        const { companyId, id: changedBy } = await member(context);
        const talentId = idOf('talent', args.id);
        const edit = {
          ...{ companyId, talentId, changedBy },
          ...{ profile: args.profile, version: args.version ?? undefined },
        };
        return await recordedChange(context, async ({ transaction, record }) => {
          const changed = await changeTalent(transaction, context.parts.clock, edit);
          if (changed.outcome === 'no-such-talent') throw notFound('talent');
          if (changed.outcome === 'changed-since') throw changedSince('talent');
          if (changed.outcome === 'invalid') throw badInput('profile', changed.message);
          const details = { version: changed.talent.version };
          await record({ action: 'talent.changed', objectKind: 'talent', objectId: talentId, details });
          return changed.talent;
        });
      },
    }),
  );

const decideProposal: Declaration = (builder) => {
  builder.mutationField('acceptTalentProposal', (t) =>
    t.field({
      type: 'Talent',
      description:
        'Accepts the changes that a newer CV proposes: all of them, or the given fields. Scores are updated.',
      authScopes: { member: true },
      args: { id: t.arg.id({ required: true }), fields: t.arg.stringList() },
      async resolve(_root, args, context) {
        const { companyId, id: decidedBy } = await member(context);
        const proposalId = idOf('proposal', args.id);
        const fields = boundedOrNull('words', 'fields', args.fields) ?? null;
        return await recordedChange(context, async ({ transaction, record }) => {
          const params = { companyId, proposalId, decidedBy, fields };
          const decided = await acceptProposal(transaction, context.parts.clock, params);
          if (decided.outcome === 'no-such-proposal') throw notFound('proposal');
          if (decided.outcome === 'invalid') throw badInput('fields', decided.message);
          const { id: objectId, version } = decided.talent;
          const object = { objectKind: 'talent', objectId, details: { version } };
          await record({ action: 'talent.proposal-accepted', ...object });
          return decided.talent;
        });
      },
    }),
  );
  builder.mutationField('rejectTalentProposal', (t) =>
    t.field({
      type: 'Talent',
      description: 'The profile stays as it is.',
      authScopes: { member: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, args, context) {
        const { companyId, id: decidedBy } = await member(context);
        const proposalId = idOf('proposal', args.id);
        return await recordedChange(context, async ({ transaction, record }) => {
          const params = { companyId, proposalId, decidedBy };
          const decided = await rejectProposal(transaction, context.parts.clock, params);
          if (decided.outcome !== 'decided') throw notFound('proposal');
          const { id: objectId } = decided.talent;
          await record({ action: 'talent.proposal-rejected', objectKind: 'talent', objectId });
          return decided.talent;
        });
      },
    }),
  );
};

export const talentDeclarations: readonly Declaration[] = [
  talentObjects,
  talents,
  talent,
  createTalent,
  updateTalent,
  decideProposal,
  ...samePersonDeclarations,
  ...personalDataDeclarations,
];
