import {
  findJobs,
  type Job,
  type JobParsing,
  type JobStatus,
  type JobVersion,
  LONGEST_DESCRIPTION,
  LONGEST_REQUIREMENT,
  listJobs,
  listJobVersions,
  MOST_REQUIREMENTS,
} from '../../../domain/jobs/job.ts';
import { changeJob, createJob as storeJob } from '../../../domain/jobs/job-changes.ts';
import { titleBeforeReading } from '../../../domain/jobs/read-posting.ts';
import { member } from '../access.ts';
import { countDocument, holdStorageToCeiling } from '../accounts/ceilings.ts';
import { badInput, changedSince, notFound } from '../errors.ts';
import { idOf, searchArg } from '../input.ts';
import { defineConnection, idCursor, type Page, pageArgs, pageOf } from '../paging.ts';
import type { FieldSize } from '../query-cost.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration, SchemaInputs } from '../schema-builder.ts';
import { documentFrom } from './documents.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    Job: Job;
    JobConnection: Page<Job>;
    JobVersion: JobVersion;
  }
  interface SchemaScalars {
    JobStatus: JobStatus;
    JobParsing: JobParsing;
  }
  interface SchemaInputs {
    JobInput: JobInput;
  }
}

interface JobInput {
  title?: string | null | undefined;
  description?: string | null | undefined;
  text?: string | null | undefined;
  file?: SchemaInputs['FileInput'] | null | undefined;
  status?: JobStatus | null | undefined;
  location?: string | null | undefined;
  remote?: boolean | null | undefined;
  employmentType?: string | null | undefined;
  mustHave?: string[] | null | undefined;
  niceToHave?: string[] | null | undefined;
  minMonthsExperience?: number | null | undefined;
}

const requirements = {
  extensions: { maxCharacters: MOST_REQUIREMENTS * LONGEST_REQUIREMENT } satisfies FieldSize,
};

const jobObjects: Declaration = (builder) => {
  builder.enumType('JobStatus', { values: ['DRAFT', 'ACTIVE', 'CLOSED'] as const });
  builder.enumType('JobParsing', {
    values: {
      NONE: { description: 'No text was provided.' },
      PENDING: { description: 'The text is waiting to be parsed.' },
      DONE: { description: 'The text was parsed, and empty fields were filled in.' },
      FAILED: { description: 'The text could not be parsed. See parseProblem.' },
    },
  });
  builder.objectType('Job', {
    fields: (t) => ({
      id: t.exposeID('id'),
      title: t.exposeString('title'),
      description: t.exposeString('description', {
        extensions: { maxCharacters: LONGEST_DESCRIPTION } satisfies FieldSize,
      }),
      status: t.expose('status', { type: 'JobStatus' }),
      location: t.exposeString('location', { nullable: true }),
      remote: t.exposeBoolean('remote'),
      employmentType: t.exposeString('employmentType', { nullable: true }),
      mustHave: t.stringList({ ...requirements, resolve: ({ mustHave }) => [...mustHave] }),
      niceToHave: t.stringList({ ...requirements, resolve: ({ niceToHave }) => [...niceToHave] }),
      minMonthsExperience: t.exposeInt('minMonthsExperience', { nullable: true }),
      parsing: t.expose('parsing', { type: 'JobParsing' }),
      parseProblem: t.exposeString('parseProblem', { nullable: true }),
      engine: t.exposeString('engine', {
        nullable: true,
        description: 'What parsed its text: model or embedded.',
      }),
      version: t.exposeInt('version'),
      versions: t.field({
        type: ['JobVersion'],
        extensions: { maxRows: 100 } satisfies FieldSize,
        description: 'The last 100 versions, newest first.',
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
    description: 'A version of a job: its content after a change, who made the change, and when.',
    fields: (t) => ({
      version: t.exposeInt('version'),
      what: t.exposeString('what'),
      fields: t.expose('fields', {
        type: 'JSON',
        extensions: { maxCharacters: LONGEST_DESCRIPTION } satisfies FieldSize,
      }),
      changedBy: t.exposeID('changedBy', { nullable: true, description: 'Null for the document worker.' }),
      changedByEmail: t.exposeString('changedByEmail', { nullable: true }),
      changedAt: t.expose('changedAt', { type: 'DateTime' }),
    }),
  });
  defineConnection(builder, 'Job');
  builder.inputType('JobInput', {
    description: 'A text or a file is sufficient: fields that are omitted are filled in from it.',
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

const jobs: Declaration = (builder) =>
  builder.queryField('jobs', (t) =>
    t.field({
      type: 'JobConnection',
      description: 'The company’s jobs, newest first.',
      authScopes: { member: true },
      args: {
        first: t.arg.int(),
        after: t.arg.id(),
        status: t.arg({ type: 'JobStatus' }),
        updatedSince: t.arg({ type: 'DateTime' }),
        search: t.arg.string({ description: 'Words that must all occur in the job.' }),
      },
      async resolve(_root, args, context) {
        const { companyId } = await member(context);
        const { limit, after } = pageArgs(args);
        const rows = await listJobs(context.parts.database, companyId, {
          limit: limit + 1,
          after: idCursor(after),
          status: args.status ?? null,
          updatedSince: args.updatedSince ?? null,
          words: searchArg(args.search),
        });
        return pageOf(rows, limit, ({ id }) => id);
      },
    }),
  );

const job: Declaration = (builder) =>
  builder.queryField('job', (t) =>
    t.field({
      type: 'Job',
      authScopes: { member: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, { id }, context) {
        const { companyId } = await member(context);
        const [found] = await findJobs(context.parts.database, companyId, [idOf('job', id)]);
        if (found == null) throw notFound('job');
        return found;
      },
    }),
  );

const createJob: Declaration = (builder) =>
  builder.mutationField('createJob', (t) =>
    t.field({
      type: 'Job',
      description:
        'From fields: ACTIVE by default. From a text or a file: a DRAFT, which the document worker fills in.',
      authScopes: { member: true },
      args: { input: t.arg({ type: 'JobInput', required: true }) },
      async resolve(_root, { input }, context) {
        const { companyId, id: createdBy } = await member(context);
        const params = { companyId, createdBy, ...(await jobFrom(input, companyId, context)) };
        return await recordedChange(context, async ({ transaction, record }) => {
          const created = await storeJob(transaction, context.parts, params);
          if (created.outcome === 'invalid') throw badInput(`input.${created.field}`, created.message);
          if ('file' in params) await holdStorageToCeiling(transaction, companyId);
          const { id, title } = created.job;
          const details = { title, status: created.job.status };
          await record({ action: 'job.created', objectKind: 'job', objectId: id, details });
          return created.job;
        });
      },
    }),
  );

const updateJob: Declaration = (builder) =>
  builder.mutationField('updateJob', (t) =>
    t.field({
      type: 'Job',
      description:
        'Omitted fields are unchanged. Null removes optional values. A new text or file is parsed again.',
      authScopes: { member: true },
      args: {
        id: t.arg.id({ required: true }),
        input: t.arg({ type: 'JobInput', required: true }),
        version: t.arg.int({
          description:
            'The version that this change is based on. Refused with CONFLICT if it was changed since. Omitted: overwrites it.',
        }),
      },
      async resolve(_root, { id, input, version }, context) {
        const { companyId, id: changedBy } = await member(context);
        const jobId = idOf('job', id);
        const changes = {
          ...{ companyId, jobId, changedBy, version: version ?? undefined },
          ...(await jobFrom(input, companyId, context)),
        };
        return await recordedChange(context, async ({ transaction, record, nothingChanged }) => {
          const changed = await changeJob(transaction, context.parts, changes);
          if (changed.outcome === 'no-such-job') throw notFound('job');
          if (changed.outcome === 'changed-since') throw changedSince('job');
          if (changed.outcome === 'invalid') throw badInput(`input.${changed.field}`, changed.message);
          if ('file' in changes) await holdStorageToCeiling(transaction, companyId);
          const { title, status: now, version } = changed.job;
          if (!changed.isNew) nothingChanged();
          else {
            const details = { title, status: now, version };
            await record({ action: 'job.changed', objectKind: 'job', objectId: jobId, details });
          }
          return changed.job;
        });
      },
    }),
  );

const closeJob: Declaration = (builder) =>
  builder.mutationField('closeJob', (t) =>
    t.field({
      type: 'Job',
      description: 'Closes the job. It is no longer matched. Repeating it is not an error.',
      authScopes: { member: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, { id }, context) {
        const { companyId, id: changedBy } = await member(context);
        const jobId = idOf('job', id);
        const changes = { companyId, jobId, changedBy, fields: {}, status: 'CLOSED' } as const;
        return await recordedChange(context, async ({ transaction, record, nothingChanged }) => {
          const changed = await changeJob(transaction, context.parts, changes);
          if (changed.outcome !== 'changed') throw notFound('job');
          const { title, version } = changed.job;
          if (!changed.isNew) nothingChanged();
          else {
            const details = { title, version };
            await record({ action: 'job.closed', objectKind: 'job', objectId: jobId, details });
          }
          return changed.job;
        });
      },
    }),
  );

/**
 * The domain's fields of an input. With a document, they are a draft until the document worker has read it: for pasted
 * text, what the embedded engine finds within milliseconds; for a file, its name.
 */
async function jobFrom(input: JobInput, companyId: string, context: RequestContext) {
  const { draftPosting } = context.parts;
  const { text: _text, file: _file, status, ...fields } = input;
  const given = { fields, status: status ?? undefined };
  const document = documentFrom(input);
  if (document === null) return given;
  await countDocument(context, companyId);
  const title = titleBeforeReading(document, document.text);
  if (document.text === null) return { ...given, file: document, draft: { title } };
  const description = document.text.replaceAll('\0', '').trim().slice(0, LONGEST_DESCRIPTION).toWellFormed();
  const draft = { title, description, ...(await draftPosting(description, companyId)) };
  return { ...given, file: document, draft };
}

export const jobDeclarations: readonly Declaration[] = [
  jobObjects,
  jobs,
  job,
  createJob,
  updateJob,
  closeJob,
];
