import {
  type AlertKind,
  type AlertSettings,
  listAlerts,
  type RaisedAlert,
  readAlertSettings,
  setAlertSettings as setSettings,
} from '../../../domain/credits/alerts/alert-settings.ts';
import { creditsAsNumber, creditsOfMicro } from '../../../domain/credits/ledger/credit-account.ts';
import { member } from '../access.ts';
import { creditsOrNull, microFrom } from '../amounts.ts';
import { badInput, conflict } from '../errors.ts';
import { bounded } from '../input.ts';
import { recordedChange } from '../recorded-change.ts';
import type { Declaration } from '../schema-builder.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    CreditAlert: RaisedAlert;
    AlertSettings: AlertSettings;
  }
  interface SchemaScalars {
    CreditAlertKind: AlertKind;
  }
}

const creditAlertObject: Declaration = (builder) => {
  builder.enumType('CreditAlertKind', {
    values: {
      LOW_BALANCE: {
        description:
          'PREPAID: one of the company’s own thresholds, or 20, 5 or 0 percent of the balance after the last top-up.',
      },
      CREDIT_LINE: { description: 'POSTPAID with a limit: a share of it is used in a month.' },
      KEY_SPENDING: { description: 'A key has spent a share of its monthly limit.' },
      BUDGET: { description: 'A share of a monthly budget is spent.' },
    },
  });
  builder.objectType('CreditAlert', {
    description: 'A threshold that was crossed, recorded once per top-up or month.',
    fields: (t) => ({
      kind: t.expose('kind', { type: 'CreditAlertKind' }),
      thresholdPercent: t.exposeInt('thresholdPercent', {
        description:
          'In percent of the last top-up or of the limit; rounded down for a threshold in credits.',
      }),
      threshold: t.float({
        nullable: true,
        description: 'In credits, if set by the company. Null for a percentage.',
        resolve: ({ thresholdMicro }) => creditsOrNull(thresholdMicro),
      }),
      keyId: t.exposeID('keyId', { nullable: true, description: 'Of KEY_SPENDING.' }),
      keyName: t.exposeString('keyName', { nullable: true }),
      budgetOf: t.exposeString('budgetOf', {
        nullable: true,
        description: 'Of BUDGET: whose budget, as `the project website`; null where it is deleted.',
      }),
      raisedAt: t.expose('raisedAt', { type: 'DateTime' }),
      mailedAt: t.expose('mailedAt', {
        type: 'DateTime',
        nullable: true,
        description: 'When it was added to the mail queue. Null while it is waiting.',
      }),
    }),
  });
};

const alertSettingsObject: Declaration = (builder) =>
  builder.objectType('AlertSettings', {
    description: 'Which alerts a company receives, and who gets them by mail.',
    fields: (t) => ({
      version: t.exposeInt('version', {
        description:
          'Starts at 0 and is incremented with every save. Pass the version you edited to setAlertSettings.',
      }),
      isOn: t.exposeBoolean('isOn', {
        description: 'While it is off, no alerts are created, mailed or delivered.',
      }),
      mail: t.exposeBoolean('isMailed', {
        description: 'Whether alerts are mailed to the receivers. Alert channels are not affected.',
      }),
      balanceThresholds: t.floatList({
        nullable: true,
        description:
          'PREPAID: balances in credits, the highest first. Null: 20, 5 and 0 percent of the balance after the last top-up.',
        resolve: ({ balanceThresholdsMicro }) => balanceThresholdsMicro?.map(creditsAsNumber) ?? null,
      }),
      limitPercents: t.intList({
        description: 'Used shares of the credit limit, and of the monthly limits of keys, in percent.',
        resolve: ({ limitPercents }) => [...limitPercents],
      }),
      receivers: t.field({
        type: ['Member'],
        nullable: true,
        description: 'The chosen recipients who are still members of the company. Null: all its admins.',
        resolve: ({ receivers }) => receivers && [...receivers],
      }),
    }),
  });

const creditAlerts: Declaration = (builder) =>
  builder.queryField('creditAlerts', (t) =>
    t.field({
      type: ['CreditAlert'],
      description:
        'The company’s last 100 alerts, newest first. Each was mailed to the recipients of alertSettings.',
      authScopes: { companyAdmin: true },
      async resolve(_root, _args, context) {
        const { companyId } = await member(context);
        return [...(await listAlerts(context.parts.database, companyId))];
      },
    }),
  );

const alertSettings: Declaration = (builder) =>
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

const setAlertSettings: Declaration = (builder) => {
  const input = builder.inputType('AlertSettingsInput', {
    description: 'Replaces all settings: what is omitted or null is reset to its default.',
    fields: (t) => ({
      version: t.int({
        description:
          'The version that this change is based on. Refused with CONFLICT if the settings were saved since. Omitted: overwrites them.',
      }),
      isOn: t.boolean({ required: true }),
      mail: t.boolean({ description: 'True by default.' }),
      balanceThresholds: t.floatList({ description: '1 to 5 balances in credits, from 0.' }),
      limitPercents: t.intList({ description: '1 to 5 shares, 1 to 100 percent; 80 and 100 by default.' }),
      receivers: t.stringList({ description: '1 to 10 addresses of the company’s people.' }),
    }),
  });
  builder.mutationField('setAlertSettings', (t) =>
    t.field({
      type: 'AlertSettings',
      description:
        'Applies to future charges. An alert is sent when the balance falls below a threshold. A threshold above the current balance takes effect after the next top-up.',
      authScopes: { companyAdmin: true },
      args: { input: t.arg({ type: input, required: true }) },
      async resolve(_root, { input: params }, context) {
        const { companyId } = await member(context);
        const balances = boundedList('balanceThresholds', params.balanceThresholds);
        const addresses = boundedList('receivers', params.receivers);
        const settings = {
          version: params.version ?? null,
          isOn: params.isOn,
          isMailed: params.mail ?? true,
          balanceThresholdsMicro:
            balances?.map((credits) => microFrom('input.balanceThresholds', credits)) ?? null,
          limitPercents: boundedList('limitPercents', params.limitPercents),
          receivers: addresses?.map((address) => bounded('email', 'input.receivers', address)) ?? null,
        };
        return await recordedChange(context, async ({ transaction, record }) => {
          const changedAt = new Date(context.parts.clock.now());
          const set = await setSettings(transaction, companyId, settings, changedAt);
          if (set.outcome === 'refused') throw badInput(`input.${set.field}`, set.problem);
          if (set.outcome === 'outdated') throw conflict(OUTDATED);
          const { isOn, isMailed, balanceThresholdsMicro, limitPercents, receivers } = set.settings;
          const details = {
            ...{ isOn, isMailed },
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

const OUTDATED =
  'The alert settings were changed after you loaded them. Load them again and repeat your change.';

/** More than can be set, so that the domain's message states the real limit. It bounds the work before that. */
const MOST_READ = 50;

function boundedList<Item>(field: string, list: readonly Item[] | null | undefined): readonly Item[] | null {
  if (list === null || list === undefined) return null;
  if (list.length > MOST_READ) throw badInput(`input.${field}`, `${list.length} are too many`);
  return list;
}

export const alertDeclarations: readonly Declaration[] = [
  creditAlertObject,
  alertSettingsObject,
  creditAlerts,
  alertSettings,
  setAlertSettings,
];
