import { findTalents } from '../../../domain/talents/list-talents.ts';
import type { Talent } from '../../../domain/talents/talent.ts';
import { listTalentVersions, readTalentText } from '../../../domain/talents/talent-history.ts';
import { member } from '../access.ts';
import { defineConnection } from '../paging.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

export const talentObjects: Declaration = (builder) => {
  builder.enumType('TalentStatus', {
    values: {
      PENDING: { description: 'The CV waits to be read.' },
      READY: { description: 'There is a profile.' },
      FAILED: { description: 'The CV cannot be read; problem says why.' },
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
        description: 'JSON Resume, with total_months_experience and some more.',
      }),
      evidence: t.expose('evidence', {
        type: 'JSON',
        nullable: true,
        description: 'Where each value stands in the text: path, start, end, confidence.',
      }),
      document: t.expose('document', {
        type: 'JSON',
        nullable: true,
        description: 'What kind of document was read: kind, language, confidence, warnings.',
      }),
      engine: t.exposeString('engine', {
        nullable: true,
        description: 'What has read the CV: model or embedded.',
      }),
      duplicateOf: t.loadable({
        type: 'Talent',
        nullable: true,
        description: 'The same person, who was there before: that one is matched.',
        load: loadTalents,
        resolve: ({ duplicateOf }) => duplicateOf,
      }),
      text: t.string({
        nullable: true,
        description: 'What was read out of the CV: the evidence points into it, in UTF-16 code units.',
        async resolve({ id }, _args, context) {
          const { companyId } = await member(context);
          return await readTalentText(context.parts.database, companyId, id);
        },
      }),
      version: t.exposeInt('version'),
      versions: t.field({
        type: ['TalentVersion'],
        description: 'The last hundred versions, the newest first.',
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
    description: 'A talent as they were after a change, with who made it and when.',
    fields: (t) => ({
      version: t.exposeInt('version'),
      what: t.exposeString('what'),
      profile: t.expose('profile', { type: 'JSON', nullable: true }),
      changedBy: t.exposeID('changedBy', { nullable: true, description: 'Null for the CV worker.' }),
      changedByEmail: t.exposeString('changedByEmail', { nullable: true }),
      changedAt: t.expose('changedAt', { type: 'DateTime' }),
    }),
  });
  defineConnection(builder, 'Talent');
};

/** One statement for all talents of an answer. */
async function loadTalents(ids: string[], context: RequestContext): Promise<(Talent | null)[]> {
  const { companyId } = await member(context);
  return [...(await findTalents(context.parts.database, companyId, ids))];
}
