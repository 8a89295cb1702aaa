import { defineConnection } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

const LONGEST_VALUE = 200;

export const workQueueObjects: Declaration = (builder) => {
  builder.objectType('WorkQueue', {
    description: 'A queue of background jobs, over all processes.',
    fields: (t) => ({
      name: t.exposeString('name'),
      waiting: t.exposeInt('waiting'),
      active: t.exposeInt('active'),
      dead: t.exposeInt('dead', { description: 'Jobs that failed as often as they may.' }),
      oldestWaitingSeconds: t.exposeInt('oldestWaitingSeconds', {
        nullable: true,
        description: 'Of the job that could have been taken longest ago.',
      }),
      processes: t.exposeInt('processes', { description: 'How many processes take jobs from it.' }),
      donePerMinute: t.exposeFloat('donePerMinute', { description: 'Over the last five minutes.' }),
      failedPerMinute: t.exposeFloat('failedPerMinute', {
        description: 'Runs, not jobs: a job is tried again.',
      }),
    }),
  });
  builder.objectType('DeadLetter', {
    description:
      'A job that failed as often as it may. It stays until it is redriven, deleted or 90 days old.',
    fields: (t) => ({
      id: t.exposeID('id'),
      error: t.exposeString('error', { description: 'Of its last run.' }),
      failedAt: t.expose('failedAt', { type: 'DateTime' }),
      data: t.field({
        type: 'JSON',
        description: 'What the job is about: names and ids; what is long is left out.',
        resolve: ({ data }) => Object.fromEntries(Object.entries(data).filter(([, value]) => isShort(value))),
      }),
    }),
  });
  defineConnection(builder, 'DeadLetter');
};

function isShort(value: unknown): boolean {
  if (typeof value === 'string') return value.length <= LONGEST_VALUE;
  return typeof value === 'number' || typeof value === 'boolean';
}
