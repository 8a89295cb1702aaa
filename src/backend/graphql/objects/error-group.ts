import type { Declaration } from '../schema-builder.ts';

export const errorGroupObject: Declaration = (builder) => {
  builder.objectType('ErrorGroup', {
    description: 'Lines of the log that say the same, of the same service.',
    fields: (t) => ({
      service: t.exposeString('service', {
        description: 'Empty for what all services of a process share.',
      }),
      message: t.exposeString('message'),
      count: t.exposeInt('count'),
      firstSeenAt: t.expose('firstSeenAt', { type: 'DateTime' }),
      lastSeenAt: t.expose('lastSeenAt', { type: 'DateTime' }),
      sampleRequestId: t.exposeString('sampleRequestId', {
        nullable: true,
        description: 'Of the last line that has one.',
      }),
      sampleReason: t.exposeString('sampleReason', { nullable: true }),
    }),
  });
};
