import type { Declaration } from '../schema-builder.ts';

export const circuitBreakerObjects: Declaration = (builder) => {
  builder.enumType('BreakerState', {
    values: {
      CLOSED: { value: 'closed', description: 'Calls go to the service.' },
      OPEN: { value: 'open', description: 'It failed too often in a row: calls take another way at once.' },
      HALF_OPEN: { value: 'half-open', description: 'The next call is the one test.' },
    } as const,
  });
  builder.objectType('CircuitBreaker', {
    description: 'An external AI service, by its host, and whether it is called.',
    fields: (t) => ({
      service: t.exposeString('service'),
      state: t.expose('state', { type: 'BreakerState' }),
      failuresInARow: t.exposeInt('failuresInARow', {
        description: 'Of the process that has seen the most.',
      }),
      aliases: t.field({ type: ['String'], resolve: ({ aliases }) => [...aliases] }),
      lastErrorReason: t.string({ nullable: true, resolve: ({ lastError }) => lastError?.reason ?? null }),
      lastErrorAt: t.field({
        type: 'DateTime',
        nullable: true,
        resolve: ({ lastError }) => (lastError === null ? null : new Date(lastError.atMs)),
      }),
      nextTryAt: t.field({
        type: 'DateTime',
        nullable: true,
        description: 'When the one test may be made; null while it is closed.',
        resolve: ({ nextTryAtMs }) => (nextTryAtMs === null ? null : new Date(nextTryAtMs)),
      }),
    }),
  });
};
