import { creditsOrNull } from '../credits.ts';
import type { Declaration } from '../schema-builder.ts';

export const creditAlertObject: Declaration = (builder) => {
  builder.enumType('CreditAlertKind', {
    values: {
      LOW_BALANCE: {
        description:
          'PREPAID: one of the company’s own thresholds, or 20, 5 or 0 percent of the balance after the last top-up.',
      },
      CREDIT_LINE: { description: 'POSTPAID with a limit: a share of it is used in a month.' },
      KEY_SPENDING: { description: 'A key has spent a share of its monthly limit.' },
    },
  });
  builder.objectType('CreditAlert', {
    description: 'A threshold that was passed, once for a top-up or a month.',
    fields: (t) => ({
      kind: t.expose('kind', { type: 'CreditAlertKind' }),
      thresholdPercent: t.exposeInt('thresholdPercent', {
        description: 'Of the last top-up or of the limit; of a threshold in credits rounded down.',
      }),
      threshold: t.float({
        nullable: true,
        description: 'In credits, where the company had set it itself; null for a share.',
        resolve: ({ thresholdMicro }) => creditsOrNull(thresholdMicro),
      }),
      keyId: t.exposeID('keyId', { nullable: true, description: 'Of KEY_SPENDING.' }),
      keyName: t.exposeString('keyName', { nullable: true }),
      raisedAt: t.expose('raisedAt', { type: 'DateTime' }),
      mailedAt: t.expose('mailedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When it was handed on to the mail; null while it waits.',
      }),
    }),
  });
};
