import { listProcesses } from '../../../domain/processes/process-board.ts';
import type { Declaration } from '../schema-builder.ts';

export const serviceProcesses: Declaration = (builder) =>
  builder.queryField('serviceProcesses', (t) =>
    t.field({
      type: ['ServiceProcess'],
      description: 'Every process of every service, those that are heard of first.',
      authScopes: { superAdmin: true },
      async resolve(_root, _args, { parts: { database, clock } }) {
        return [...(await listProcesses(database, clock.now()))];
      },
    }),
  );
