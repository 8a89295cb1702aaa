import type { Declaration } from '../schema-builder.ts';

export const matchGeneratorObjects: Declaration = (builder) => {
  builder.enumType('GeneratorState', {
    values: {
      stopped: { value: 'stopped', description: 'It does nothing until it is started.' },
      running: { value: 'running', description: 'It waits for talents and jobs to change.' },
      processing: {
        value: 'processing',
        description: 'A batch is being worked on; a stop waits for its end.',
      },
    },
  });
  builder.objectType('MatchGenerator', {
    description: 'The match score generator, over all processes that run it.',
    fields: (t) => ({
      state: t.expose('state', { type: 'GeneratorState' }),
      wish: t.expose('wish', {
        type: 'GeneratorState',
        description: 'What it is to be: running or stopped.',
      }),
      uptimeSeconds: t.exposeInt('uptimeSeconds'),
      currentBatch: t.exposeInt('currentBatch'),
      queueSize: t.exposeInt('queueSize'),
      totalProcessed: t.exposeInt('totalProcessed', { description: 'Matches since the last restart.' }),
      totalErrors: t.exposeInt('totalErrors'),
      throughputPerMinute: t.exposeInt('throughputPerMinute'),
      lastProcessedAt: t.expose('lastProcessedAt', { type: 'DateTime', nullable: true }),
      processes: t.exposeInt('processes', { description: 'How many processes run it.' }),
    }),
  });
};
