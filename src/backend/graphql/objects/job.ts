import { listJobVersions } from '../../../domain/jobs/list-jobs.ts';
import { member } from '../access.ts';
import { defineConnection } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const jobObjects: Declaration = (builder) => {
  builder.enumType('JobStatus', { values: ['DRAFT', 'ACTIVE', 'CLOSED'] as const });
  builder.enumType('JobParsing', {
    values: {
      NONE: { description: 'It came without a text.' },
      PENDING: { description: 'Its text waits to be read.' },
      DONE: { description: 'What its text says and nobody had set is in its fields.' },
      FAILED: { description: 'Its text cannot be read; parseProblem says why.' },
    },
  });
  builder.objectType('Job', {
    fields: (t) => ({
      id: t.exposeID('id'),
      title: t.exposeString('title'),
      description: t.exposeString('description'),
      status: t.expose('status', { type: 'JobStatus' }),
      location: t.exposeString('location', { nullable: true }),
      remote: t.exposeBoolean('remote'),
      employmentType: t.exposeString('employmentType', { nullable: true }),
      mustHave: t.stringList({ resolve: ({ mustHave }) => [...mustHave] }),
      niceToHave: t.stringList({ resolve: ({ niceToHave }) => [...niceToHave] }),
      minMonthsExperience: t.exposeInt('minMonthsExperience', { nullable: true }),
      parsing: t.expose('parsing', { type: 'JobParsing' }),
      parseProblem: t.exposeString('parseProblem', { nullable: true }),
      engine: t.exposeString('engine', {
        nullable: true,
        description: 'What has read its text: model or embedded.',
      }),
      version: t.exposeInt('version'),
      versions: t.field({
        type: ['JobVersion'],
        description: 'Its last hundred versions, the newest first.',
        async resolve({ id }, _args, context) {
          const { companyId } = await member(context);
          return [...(await listJobVersions(context.parts.database, companyId, id))];
        },
      }),
      createdAt: t.expose('createdAt', { type: 'DateTime' }),
      updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    }),
  });
  builder.objectType('JobVersion', {
    description: 'A job as it was after a change, with who made it and when.',
    fields: (t) => ({
      version: t.exposeInt('version'),
      what: t.exposeString('what'),
      fields: t.expose('fields', { type: 'JSON' }),
      changedBy: t.exposeID('changedBy', { nullable: true, description: 'Null for the document worker.' }),
      changedByEmail: t.exposeString('changedByEmail', { nullable: true }),
      changedAt: t.expose('changedAt', { type: 'DateTime' }),
    }),
  });
  defineConnection(builder, 'Job');
  builder.inputType('FileInput', {
    description: 'PDF, DOCX, HTML or plain text, of at most 10 MiB. Its kind is told by its content.',
    fields: (t) => ({
      name: t.string({ required: true }),
      contentBase64: t.string({ required: true }),
    }),
  });
  builder.inputType('JobInput', {
    description: 'A text or a file alone is enough: what it says is read into whatever is left out.',
    fields: (t) => ({
      title: t.string(),
      description: t.string(),
      text: t.string(),
      file: t.field({ type: 'FileInput' }),
      status: t.field({ type: 'JobStatus' }),
      location: t.string(),
      remote: t.boolean(),
      employmentType: t.string(),
      mustHave: t.stringList(),
      niceToHave: t.stringList(),
      minMonthsExperience: t.int(),
    }),
  });
};
