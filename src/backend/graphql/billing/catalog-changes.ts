import {
  updateCreditPack as changePack,
  updatePlan as changePlan,
  retireCreditPack as endPack,
  retirePlan as endPlan,
} from '../../../domain/catalog/change-offer.ts';
import type { CreditPack } from '../../../domain/catalog/credit-pack.ts';
import type { Plan } from '../../../domain/catalog/plan.ts';
import { creditsAsNumber } from '../../../domain/credits/ledger/credit-account.ts';
import { amountFrom } from '../amounts.ts';
import { badInput, conflict, notFound, providerFailed } from '../errors.ts';
import { idOf } from '../input.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';
import { packFrom, planFrom } from './catalog.ts';

const updatePlan: Declaration = (builder) =>
  builder.mutationField('updatePlan', (t) =>
    t.field({
      type: 'Plan',
      description:
        'The plan as the input says, all of it. Another price, currency, interval or number of credits makes a new price ' +
        'at the payment provider and archives the one before; subscriptions that run go on at their price and credits.',
      authScopes: { superAdmin: true },
      args: { id: t.arg.id({ required: true }), input: t.arg({ type: 'PlanInput', required: true }) },
      async resolve(_root, { id, input }, context) {
        const planId = idOf('plan', id);
        return await planAnswer(
          context,
          'plan.updated',
          await changePlan(changeParts(context), planId, planFrom(input)),
        );
      },
    }),
  );

const retirePlan: Declaration = (builder) =>
  builder.mutationField('retirePlan', (t) =>
    t.field({
      type: 'Plan',
      description:
        'Takes a plan out of the catalogue and archives its price at the payment provider. Subscriptions to it go on. ' +
        'updatePlan with active: true sells it again.',
      authScopes: { superAdmin: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, { id }, context) {
        const planId = idOf('plan', id);
        return await planAnswer(context, 'plan.retired', await endPlan(changeParts(context), planId));
      },
    }),
  );

const updateCreditPack: Declaration = (builder) =>
  builder.mutationField('updateCreditPack', (t) =>
    t.field({
      type: 'CreditPackOutput',
      description:
        'The pack as the input says, all of it. Another price or currency makes a new price at the payment provider and ' +
        'archives the one before; purchases that were begun stay as they were agreed.',
      authScopes: { superAdmin: true },
      args: {
        id: t.arg.id({ required: true }),
        input: t.arg({ type: 'CreateCreditPackInput', required: true }),
      },
      async resolve(_root, { id, input }, context) {
        const packId = idOf('credit pack', id);
        return await packAnswer(
          context,
          'credit-pack.updated',
          await changePack(changeParts(context), packId, packFrom(input)),
        );
      },
    }),
  );

const retireCreditPack: Declaration = (builder) =>
  builder.mutationField('retireCreditPack', (t) =>
    t.field({
      type: 'CreditPackOutput',
      description:
        'Retires a pack permanently and archives its price at the payment provider. Credits already bought are not affected.',
      authScopes: { superAdmin: true },
      args: { id: t.arg.id({ required: true }) },
      async resolve(_root, { id }, context) {
        const packId = idOf('credit pack', id);
        return await packAnswer(context, 'credit-pack.retired', await endPack(changeParts(context), packId));
      },
    }),
  );

function changeParts({ parts }: RequestContext) {
  return { ...parts, onPriced: (priceId: string) => parts.paymentEvents.wake([`price:${priceId}`]) };
}

/** The payment provider is called outside any transaction, so the entry records the result. */
async function planAnswer(
  context: RequestContext,
  action: string,
  changed: Awaited<ReturnType<typeof changePlan>>,
): Promise<Plan> {
  switch (changed.outcome) {
    case 'no-such-plan':
      throw notFound('plan');
    case 'invalid':
      throw badInput(`input.${changed.field}`, changed.message);
    case 'busy':
      throw conflict(changed.message);
    case 'provider-failed':
      throw providerFailed(changed.message);
    case 'changed': {
      const { plan } = changed;
      const { name, priceMinor, currency, creditsMicro, active, providerPriceId } = plan;
      const details = {
        ...{
          name,
          price: amountFrom(priceMinor, currency),
          currency,
          credits: creditsAsNumber(creditsMicro),
        },
        ...{ active, providerPriceId },
      };
      await recordedChange(context, ({ record }) =>
        record({ action, objectKind: 'plan', objectId: plan.id, companyId: null, details }),
      );
      return plan;
    }
  }
}

async function packAnswer(
  context: RequestContext,
  action: string,
  changed: Awaited<ReturnType<typeof changePack>>,
): Promise<CreditPack> {
  switch (changed.outcome) {
    case 'no-such-pack':
      throw notFound('credit pack');
    case 'invalid':
      throw badInput(`input.${changed.field}`, changed.message);
    case 'busy':
    case 'retired':
      throw conflict(changed.message);
    case 'provider-failed':
      throw providerFailed(changed.message);
    case 'changed': {
      const { pack } = changed;
      const { name, priceMinor, currency, creditsMicro, providerPriceId } = pack;
      const price = amountFrom(priceMinor, currency);
      const details = { name, price, currency, credits: creditsAsNumber(creditsMicro), providerPriceId };
      await recordedChange(context, ({ record }) =>
        record({ action, objectKind: 'credit-pack', objectId: pack.id, companyId: null, details }),
      );
      return pack;
    }
  }
}

export const catalogChangeDeclarations: readonly Declaration[] = [
  updatePlan,
  retirePlan,
  updateCreditPack,
  retireCreditPack,
];
