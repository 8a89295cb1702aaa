import { countOperations } from '../../../domain/operations/count-operations.ts';
import { listOperations } from '../../../domain/operations/list-operations.ts';
import { boundedOrNull } from '../bounded-input.ts';
import { hoursAgo, timeSpan } from '../looked-back.ts';
import { idCursor, pageOf, pageWish } from '../paging.ts';
import type { Declaration } from '../schema-builder.ts';

const USUAL_HOURS = 24;

export const aiOperations: Declaration = (builder) =>
  builder.queryField('aiOperations', (t) =>
    t.field({
      type: 'AiOperationConnection',
      description: 'Calls to models of all companies, the newest first: of the last day unless told.',
      authScopes: { superAdmin: true },
      args: {
        first: t.arg.int(),
        after: t.arg.id(),
        kind: t.arg.string({ description: 'As chat/completions.' }),
        outcome: t.arg({ type: 'OperationOutcome' }),
        hours: t.arg.int({ description: 'So far back, where `from` does not say it: 1 to 168.' }),
        from: t.arg({ type: 'DateTime' }),
        to: t.arg({ type: 'DateTime', description: 'Before this moment.' }),
      },
      async resolve(_root, args, { parts: { database, clock } }) {
        const { limit, after } = pageWish(args);
        const wish = {
          ...timeSpan(args, USUAL_HOURS, clock.now()),
          kind: args.kind === '' ? null : boundedOrNull('line', 'kind', args.kind),
          outcome: args.outcome ?? null,
          limit: limit + 1,
          after: idCursor(after),
        };
        return pageOf(await listOperations(database, wish), limit, ({ id }) => id);
      },
    }),
  );

export const aiOperationStats: Declaration = (builder) =>
  builder.queryField('aiOperationStats', (t) =>
    t.field({
      type: ['AiOperationStats'],
      description: 'The same, counted by kind and outcome, with percentiles of how long they took.',
      authScopes: { superAdmin: true },
      args: { hours: t.arg.int({ description: 'So far back: 1 to 168, 24 unless told.' }) },
      async resolve(_root, { hours }, { parts: { database, clock } }) {
        return [...(await countOperations(database, hoursAgo(hours, USUAL_HOURS, clock.now())))];
      },
    }),
  );
