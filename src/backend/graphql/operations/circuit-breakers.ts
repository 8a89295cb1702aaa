import { resetToldService } from '../../../domain/breakers/told-service.ts';
import { readAiServices } from '../ai-services.ts';
import { bounded } from '../bounded-input.ts';
import { recordedChange } from '../recorded-change.ts';
import { conflict, notFound } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

export const circuitBreakers: Declaration = (builder) =>
  builder.queryField('circuitBreakers', (t) =>
    t.field({
      type: ['CircuitBreaker'],
      description: 'Every external AI service, as all processes agree on it.',
      authScopes: { superAdmin: true },
      resolve: async (_root, _args, { parts }) => [...(await readAiServices(parts))],
    }),
  );

export const resetCircuitBreaker: Declaration = (builder) =>
  builder.mutationField('resetCircuitBreaker', (t) =>
    t.field({
      type: 'CircuitBreaker',
      description:
        'Lets all processes call a service again before its time. It opens anew if that still fails.',
      authScopes: { superAdmin: true },
      args: { service: t.arg.string({ required: true }) },
      async resolve(_root, args, context) {
        const name = bounded('line', 'service', args.service);
        const find = async () =>
          (await readAiServices(context.parts)).find(({ service }) => service === name);
        if ((await find()) === undefined) throw notFound('AI service');
        const reset = await resetToldService(context.parts, name);
        if (reset.outcome === 'closed-before')
          throw conflict('This service is called: there is nothing to reset.');
        await recordedChange(context, ({ record }) =>
          record({ action: 'breaker.reset', objectKind: 'ai-service', objectId: name, companyId: null }),
        );
        const after = await find();
        if (after === undefined) throw notFound('AI service');
        return after;
      },
    }),
  );
