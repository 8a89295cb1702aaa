import { isId } from '../../../domain/keys/api-key.ts';
import {
  type JobRate,
  listProcesses,
  type ServiceProcess,
} from '../../../domain/processes/service-processes.ts';
import type { DeadLetter, DeadLetterPlace, QueueDepth } from '../../../ports/job-queue.ts';
import { badInput, notFound } from '../errors.ts';
import { bounded, idOf } from '../input.ts';
import { defineConnection, type Page, pageArgs, pageOf, wrongCursor } from '../paging.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    WorkQueue: QueueDepth & JobRate & { readonly processes: number };
    DeadLetter: DeadLetter;
    DeadLetterConnection: Page<DeadLetter>;
  }
}

const LONGEST_VALUE = 200;

const MOST_IDS = 1_000;

const workQueueObjects: Declaration = (builder) => {
  builder.objectType('WorkQueue', {
    description: 'A queue of background jobs, over all processes.',
    fields: (t) => ({
      name: t.exposeString('name'),
      waiting: t.exposeInt('waiting'),
      active: t.exposeInt('active'),
      dead: t.exposeInt('dead', { description: 'Jobs that have used up their retries.' }),
      oldestWaitingSeconds: t.exposeInt('oldestWaitingSeconds', {
        nullable: true,
        description: 'Of the oldest job that is ready to run.',
      }),
      processes: t.exposeInt('processes', { description: 'Number of processes that consume it.' }),
      donePerMinute: t.exposeFloat('donePerMinute', { description: 'Over the last five minutes.' }),
      failedPerMinute: t.exposeFloat('failedPerMinute', {
        description: 'Runs, not jobs: a job is tried again.',
      }),
    }),
  });
  builder.objectType('DeadLetter', {
    description:
      'A job that has used up its retries. It is stored until it is redriven, deleted or 90 days old.',
    fields: (t) => ({
      id: t.exposeID('id'),
      error: t.exposeString('error', { description: 'Of its last run.' }),
      failedAt: t.expose('failedAt', { type: 'DateTime' }),
      data: t.field({
        type: 'JSON',
        description: 'The job’s data: names and ids. Long values are omitted.',
        resolve: ({ data }) => Object.fromEntries(Object.entries(data).filter(([, value]) => isShort(value))),
      }),
    }),
  });
  defineConnection(builder, 'DeadLetter');
};

const workQueues: Declaration = (builder) =>
  builder.queryField('workQueues', (t) =>
    t.field({
      type: ['WorkQueue'],
      description: 'Every queue of background jobs: waiting, running and dead jobs, and throughput.',
      authScopes: { superAdmin: true },
      async resolve(_root, _args, { parts: { database, databaseClock, queues } }) {
        const processes = await listProcesses(database, databaseClock.now());
        const depths = await queues.depths();
        return depths.map((depth) => ({ ...depth, ...paceOf(processes, depth.name) }));
      },
    }),
  );

const deadLetters: Declaration = (builder) =>
  builder.queryField('deadLetters', (t) =>
    t.field({
      type: 'DeadLetterConnection',
      description: 'The dead letters of a queue, newest first.',
      authScopes: { superAdmin: true },
      args: { queue: t.arg.string({ required: true }), first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, context) {
        const queue = await knownQueue(context, args.queue);
        const { limit, after } = pageArgs(args);
        const place = after === null ? undefined : deadLetterPlace(after);
        const letters = await context.parts.queues.deadLetters(queue, limit + 1, place);
        return pageOf(letters, limit, ({ id, failedAt }) => `${failedAt.getTime()}.${id}`);
      },
    }),
  );

const redriveDeadLetters: Declaration = (builder) =>
  builder.mutationField('redriveDeadLetters', (t) =>
    t.field({
      type: 'Int',
      description:
        'Gives dead letters of a queue another run with all their attempts: those named, or all of them. How many there were; ' +
        'one for which the same job waits already stays where it is.',
      authScopes: { superAdmin: true },
      args: { queue: t.arg.string({ required: true }), ids: t.arg({ type: ['ID'] }) },
      async resolve(_root, args, context) {
        const queue = await knownQueue(context, args.queue);
        const ids = args.ids == null ? undefined : deadLetterIds(args.ids);
        const count = await context.parts.queues.redrive(queue, ids);
        await recordQueueChange(context, queue, 'dead-letters.redriven', count);
        return count;
      },
    }),
  );

const deleteDeadLetters: Declaration = (builder) =>
  builder.mutationField('deleteDeadLetters', (t) =>
    t.field({
      type: 'Int',
      description: 'Deletes dead letters of a queue. Their work is not done. Returns the number deleted.',
      authScopes: { superAdmin: true },
      args: {
        queue: t.arg.string({ required: true }),
        ids: t.arg({ type: ['ID'], required: true }),
      },
      async resolve(_root, args, context) {
        const queue = await knownQueue(context, args.queue);
        const count = await context.parts.queues.discard(queue, deadLetterIds(args.ids));
        await recordQueueChange(context, queue, 'dead-letters.deleted', count);
        return count;
      },
    }),
  );

function isShort(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= LONGEST_VALUE;
  return typeof value === 'number' || typeof value === 'boolean';
}

function paceOf(processes: readonly ServiceProcess[], queue: string) {
  const rates = processes.flatMap(({ isStale, report }) => (isStale ? [] : (report.jobRates[queue] ?? [])));
  const sum = (which: keyof JobRate) =>
    Math.round(rates.reduce((total, rate) => total + rate[which], 0) * 10) / 10;
  return {
    processes: rates.length,
    donePerMinute: sum('donePerMinute'),
    failedPerMinute: sum('failedPerMinute'),
  };
}

/** Checked against the existing queues: the job queue itself accepts any well-formed name. */
async function knownQueue({ parts }: RequestContext, name: string): Promise<string> {
  const queue = bounded('line', 'queue', name);
  if (!(await parts.queues.depths()).some((depth) => depth.name === queue)) throw notFound('queue');
  return queue;
}

function deadLetterIds(ids: readonly (string | number)[]): string[] {
  if (ids.length > MOST_IDS) throw badInput('ids', `at most ${MOST_IDS} at once`);
  return ids.map((id) => idOf('dead letter', id));
}

function deadLetterPlace(cursor: string): DeadLetterPlace {
  const [ms = '', id = ''] = cursor.split('.');
  if (!/^\d{1,14}$/.test(ms) || !isId(id)) throw wrongCursor();
  return { id, failedAt: new Date(Number(ms)) };
}

/** Each dead letter was moved in its own transaction. If none was moved, nothing is recorded. */
async function recordQueueChange(
  context: RequestContext,
  queue: string,
  action: string,
  count: number,
): Promise<void> {
  if (count === 0) return;
  await recordedChange(context, ({ record }) =>
    record({ action, objectKind: 'queue', objectId: queue, companyId: null, details: { count } }),
  );
}

export const queueDeclarations: readonly Declaration[] = [
  workQueueObjects,
  workQueues,
  deadLetters,
  redriveDeadLetters,
  deleteDeadLetters,
];
