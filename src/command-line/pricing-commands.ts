import { rebuildPackPricing, rebuildPlanPricing } from '../domain/catalog/rebuild-pricing.ts';
import { isId } from '../domain/keys/api-key.ts';
import {
  type Command,
  complainOfUsage,
  EXIT_FAILED,
  EXIT_OK,
  type OpenedSystem,
  type Terminal,
} from './command.ts';

export const rebuildPlanPricingCommand: Command = {
  name: 'rebuild-plan-pricing',
  usage: 'PLAN_ID …',
  summary: 'Creates products and prices of plans again that the payment provider no longer has.',
  works: 'on-the-database',
  async run(context, planIds) {
    const { terminal } = context;
    if (planIds.length === 0 || !planIds.every(isId)) {
      return complainOfUsage(terminal, rebuildPlanPricingCommand);
    }
    const parts = await rebuildParts(context);
    if (parts === null) return EXIT_FAILED;
    const rebuilt = await rebuildPlanPricing(parts, planIds);
    switch (rebuilt.outcome) {
      case 'rebuilt':
        for (const { id, name, providerPriceId } of rebuilt.plans) {
          const what = rebuilt.changed.has(id) ? 'has a new price' : 'is known to the provider';
          terminal.print(`${id} ${name} ${what}: ${providerPriceId}`);
        }
        return EXIT_OK;
      case 'no-such-plan':
        terminal.complain(`there is no plan ${rebuilt.planId}`);
        return EXIT_FAILED;
      default:
        terminal.complain(rebuilt.message);
        return EXIT_FAILED;
    }
  },
};

export const rebuildPackPricingCommand: Command = {
  name: 'rebuild-pack-pricing',
  usage: 'CREDIT_PACK_ID',
  summary: 'Creates product and price of one credit pack again if the payment provider no longer has them.',
  works: 'on-the-database',
  async run(context, [packId, ...rest]) {
    const { terminal } = context;
    if (packId === undefined || rest.length > 0 || !isId(packId)) {
      return complainOfUsage(terminal, rebuildPackPricingCommand);
    }
    const parts = await rebuildParts(context);
    if (parts === null) return EXIT_FAILED;
    const rebuilt = await rebuildPackPricing(parts, packId);
    switch (rebuilt.outcome) {
      case 'rebuilt': {
        const { id, name, providerPriceId } = rebuilt.pack;
        const what = rebuilt.isChanged ? 'has a new price' : 'is known to the provider';
        terminal.print(`${id} ${name} ${what}: ${providerPriceId}`);
        return EXIT_OK;
      }
      case 'no-such-pack':
        terminal.complain(`there is no credit pack ${packId}`);
        return EXIT_FAILED;
      case 'provider-failed':
        terminal.complain(rebuilt.message);
        return EXIT_FAILED;
    }
  },
};

async function rebuildParts({ terminal, payments, paymentProvider }: OpenedSystem & { terminal: Terminal }) {
  if (payments === undefined || paymentProvider === undefined) {
    terminal.complain(
      'This process has no payment provider: set PAYMENT_PROVIDER_KEY as the backend has it.',
    );
    return null;
  }
  const parts = await payments();
  const onPriced = (priceId: string) => parts.paymentEvents.wake([`price:${priceId}`]);
  return { ...parts, provider: await paymentProvider(), onPriced };
}
