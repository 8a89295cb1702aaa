import { isId } from '../../../domain/keys/api-key.ts';
import type { DeadLetterPlace } from '../../../ports/job-queue.ts';
import { bounded, idOf } from '../bounded-input.ts';
import { pageOf, pageWish } from '../paging.ts';
import { recordedChange } from '../recorded-change.ts';
import { badInput, notFound } from '../refusals.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';

const MOST_IDS = 1_000;

export const deadLetters: Declaration = (builder) =>
  builder.queryField('deadLetters', (t) =>
    t.field({
      type: 'DeadLetterConnection',
      description: 'The dead letters of a queue, the newest first.',
      authScopes: { superAdmin: true },
      args: { queue: t.arg.string({ required: true }), first: t.arg.int(), after: t.arg.id() },
      async resolve(_root, args, context) {
        const queue = await knownQueue(context, args.queue);
        const { limit, after } = pageWish(args);
        const place = after === null ? undefined : placeOf(after);
        const letters = await context.parts.queues.deadLetters(queue, limit + 1, place);
        return pageOf(letters, limit, ({ id, failedAt }) => `${failedAt.getTime()}.${id}`);
      },
    }),
  );

export const redriveDeadLetters: Declaration = (builder) =>
  builder.mutationField('redriveDeadLetters', (t) =>
    t.field({
      type: 'Int',
      description:
        'Gives dead letters of a queue another run, all tries anew: those named, or all of them. How many there were; ' +
        'one for which the same job waits already stays where it is.',
      authScopes: { superAdmin: true },
      args: { queue: t.arg.string({ required: true }), ids: t.arg({ type: ['ID'] }) },
      async resolve(_root, args, context) {
        const queue = await knownQueue(context, args.queue);
        const ids = args.ids == null ? undefined : idsOf(args.ids);
        const count = await context.parts.queues.redrive(queue, ids);
        await recorded(context, queue, 'dead-letters.redriven', count);
        return count;
      },
    }),
  );

export const deleteDeadLetters: Declaration = (builder) =>
  builder.mutationField('deleteDeadLetters', (t) =>
    t.field({
      type: 'Int',
      description:
        'Gives dead letters of a queue up for good: what they were to do is not done. How many there were.',
      authScopes: { superAdmin: true },
      args: {
        queue: t.arg.string({ required: true }),
        ids: t.arg({ type: ['ID'], required: true }),
      },
      async resolve(_root, args, context) {
        const queue = await knownQueue(context, args.queue);
        const count = await context.parts.queues.discard(queue, idsOf(args.ids));
        await recorded(context, queue, 'dead-letters.deleted', count);
        return count;
      },
    }),
  );

/** By what there is: the job queue itself takes any name of the right form. */
async function knownQueue({ parts }: RequestContext, name: string): Promise<string> {
  const queue = bounded('line', 'queue', name);
  if (!(await parts.queues.depths()).some((depth) => depth.name === queue)) throw notFound('queue');
  return queue;
}

function idsOf(ids: readonly (string | number)[]): string[] {
  if (ids.length > MOST_IDS) throw badInput('ids', `at most ${MOST_IDS} at once`);
  return ids.map((id) => idOf('dead letter', id));
}

function placeOf(cursor: string): DeadLetterPlace {
  const [ms = '', id = ''] = cursor.split('.');
  if (!/^\d{1,14}$/.test(ms) || !isId(id)) {
    throw badInput('after', 'this is no cursor: give the endCursor of a page');
  }
  return { id, failedAt: new Date(Number(ms)) };
}

/** Each letter was moved in a transaction of its own; where nothing was moved there is nothing to record. */
async function recorded(
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
