import {
  readAlertSettings,
  setAlertSettings as setSettings,
} from '../../../domain/credits/alert-settings.ts';
import { creditsOfMicro } from '../../../domain/credits/credit-amount.ts';
import { member } from '../access.ts';
import { bounded } from '../bounded-input.ts';
import { microFrom } from '../credits.ts';
import { recordedChange } from '../recorded-change.ts';
import { badInput } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';

/** More than can be set, so that the domain says how many can; it bounds what is read one by one. */
const MOST_READ = 50;

export const alertSettings: Declaration = (builder) =>
  builder.queryField('alertSettings', (t) =>
    t.field({
      type: 'AlertSettings',
      authScopes: { companyAdmin: true },
      async resolve(_root, _args, context) {
        const { companyId } = await member(context);
        return await readAlertSettings(context.parts.database, companyId);
      },
    }),
  );

export const setAlertSettings: Declaration = (builder) => {
  const input = builder.inputType('AlertSettingsInput', {
    description: 'All of it at once: what is left out or null goes back to its default.',
    fields: (t) => ({
      isOn: t.boolean({ required: true }),
      balanceThresholds: t.floatList({ description: '1 to 5 balances in credits, from 0.' }),
      limitPercents: t.intList({ description: '1 to 5 shares, 1 to 100 percent; 80 and 100 by default.' }),
      receivers: t.stringList({ description: '1 to 10 addresses of the company’s people.' }),
    }),
  });
  builder.mutationField('setAlertSettings', (t) =>
    t.field({
      type: 'AlertSettings',
      description:
        'For what is charged from now on. A threshold is told when it is passed: one above the present balance waits for the next top-up.',
      authScopes: { companyAdmin: true },
      args: { input: t.arg({ type: input, required: true }) },
      async resolve(_root, { input: wanted }, context) {
        const { companyId } = await member(context);
        const balances = read('balanceThresholds', wanted.balanceThresholds);
        const addresses = read('receivers', wanted.receivers);
        const settings = {
          isOn: wanted.isOn,
          balanceThresholdsMicro:
            balances?.map((credits) => microFrom('input.balanceThresholds', credits)) ?? null,
          limitPercents: read('limitPercents', wanted.limitPercents),
          receivers: addresses?.map((address) => bounded('email', 'input.receivers', address)) ?? null,
        };
        return await recordedChange(context, async ({ transaction, record }) => {
          const changedAt = new Date(context.parts.clock.now());
          const set = await setSettings(transaction, companyId, settings, changedAt);
          if (set.outcome === 'refused') throw badInput(`input.${set.field}`, set.problem);
          const { isOn, balanceThresholdsMicro, limitPercents, receivers } = set.settings;
          const details = {
            isOn,
            balanceThresholds: balanceThresholdsMicro?.map(creditsOfMicro) ?? null,
            limitPercents: limitPercents.map(String),
            receivers: receivers?.map(({ email }) => email) ?? null,
          };
          const object = { objectKind: 'company', objectId: companyId };
          await record({ action: 'alert-settings.set', ...object, details });
          return set.settings;
        });
      },
    }),
  );
};

function read<Item>(field: string, list: readonly Item[] | null | undefined): readonly Item[] | null {
  if (list === null || list === undefined) return null;
  if (list.length > MOST_READ) throw badInput(`input.${field}`, `${list.length} are too many`);
  return list;
}
