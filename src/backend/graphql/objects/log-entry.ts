import { defineConnection } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

export const logEntryObject: Declaration = (builder) => {
  builder.enumType('LogLevel', {
    values: {
      DEBUG: { value: 'debug' },
      INFO: { value: 'info' },
      WARN: { value: 'warn' },
      ERROR: { value: 'error' },
    } as const,
  });
  builder.objectType('LogEntry', {
    description: 'A line of the log of any process. Secrets are taken out before a line is made.',
    fields: (t) => ({
      timestamp: t.field({ type: 'DateTime', resolve: ({ timestamp }) => new Date(timestamp) }),
      level: t.expose('level', { type: 'LogLevel' }),
      message: t.exposeString('message'),
      context: t.expose('context', { type: 'JSON', nullable: true }),
    }),
  });
  defineConnection(builder, 'LogEntry');
};
