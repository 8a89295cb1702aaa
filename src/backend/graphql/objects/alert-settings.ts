import { creditsFrom } from '../credits.ts';
import type { Declaration } from '../schema-builder.ts';

export const alertSettingsObject: Declaration = (builder) =>
  builder.objectType('AlertSettings', {
    description: 'What a company is alerted of, and who is told by mail.',
    fields: (t) => ({
      isOn: t.exposeBoolean('isOn', { description: 'While it is off nothing is raised and nothing mailed.' }),
      balanceThresholds: t.floatList({
        nullable: true,
        description:
          'PREPAID: balances in credits, the highest first. Null: 20, 5 and 0 percent of the balance after the last top-up.',
        resolve: ({ balanceThresholdsMicro }) => balanceThresholdsMicro?.map(creditsFrom) ?? null,
      }),
      limitPercents: t.intList({
        description: 'Used shares of the credit limit, and of the monthly limits of keys, in percent.',
        resolve: ({ limitPercents }) => [...limitPercents],
      }),
      receivers: t.field({
        type: ['Member'],
        nullable: true,
        description: 'Those of the chosen people who still belong to the company. Null: all its admins.',
        resolve: ({ receivers }) => receivers && [...receivers],
      }),
    }),
  });
