import {
  companiesCommand,
  createCompany,
  createSuperAdmin,
  issueToken,
  resetTotpCommand,
} from './account-commands.ts';
import { ceilingsCommand, setCeilingsCommand } from './ceiling-commands.ts';
import type { Command } from './command.ts';
import { adjustCreditsCommand, auditCommand, statementCommand } from './credit-commands.ts';
import { migrateCommand, queueCommand, redriveCommand } from './deployment-commands.ts';
import {
  invoiceMonthCommand,
  invoicesCommand,
  markInvoicePaidCommand,
  setBillingCommand,
  voidInvoiceCommand,
} from './invoice-commands.ts';
import { keysCommand, mintKeyCommand, revokeKeyCommand, rotateKeyCommand } from './key-commands.ts';
import { aliasesCommand, pricesCommand, resealKeysCommand, setPriceCommand } from './model-commands.ts';
import {
  createWebhookEndpointCommand,
  deactivateStaleSubscriptionsCommand,
  paymentEventsCommand,
  recreateWebhookEndpointCommand,
  replayPaymentEventCommand,
  replayPaymentsCommand,
} from './payment-commands.ts';
import { otherInvoiceLinesCommand, planRatesCommand, setPlanRateCommand } from './plan-commands.ts';
import { rebuildPackPricingCommand, rebuildPlanPricingCommand } from './pricing-commands.ts';
import {
  createServiceTokenCommand,
  revokeServiceTokenCommand,
  serviceTokensCommand,
} from './service-token-commands.ts';
import { providersCommand, setAliasCommand } from './set-alias-command.ts';
import { repairCallsCommand, setAsideCallsCommand } from './set-aside-commands.ts';
import { verifyDeployment } from './verify-deployment.ts';
import { withheldUsageCommand } from './withheld-usage-command.ts';

/** Everything an operator can type after `turnpike`, besides `help` and `settings`. */
export const COMMANDS: readonly Command[] = [
  migrateCommand,
  createSuperAdmin,
  createCompany,
  issueToken,
  resetTotpCommand,
  companiesCommand,
  ceilingsCommand,
  setCeilingsCommand,
  keysCommand,
  mintKeyCommand,
  rotateKeyCommand,
  revokeKeyCommand,
  serviceTokensCommand,
  createServiceTokenCommand,
  revokeServiceTokenCommand,
  aliasesCommand,
  providersCommand,
  setAliasCommand,
  resealKeysCommand,
  pricesCommand,
  setPriceCommand,
  adjustCreditsCommand,
  auditCommand,
  setBillingCommand,
  invoicesCommand,
  invoiceMonthCommand,
  markInvoicePaidCommand,
  voidInvoiceCommand,
  statementCommand,
  setAsideCallsCommand,
  repairCallsCommand,
  withheldUsageCommand,
  paymentEventsCommand,
  replayPaymentEventCommand,
  replayPaymentsCommand,
  deactivateStaleSubscriptionsCommand,
  rebuildPlanPricingCommand,
  rebuildPackPricingCommand,
  planRatesCommand,
  setPlanRateCommand,
  otherInvoiceLinesCommand,
  createWebhookEndpointCommand,
  recreateWebhookEndpointCommand,
  queueCommand,
  redriveCommand,
  verifyDeployment(),
];

export function commandNamed(name: string): Command | null {
  return COMMANDS.find((command) => command.name === name) ?? null;
}

export function help(): string {
  const width = Math.max(...COMMANDS.map(({ name, usage }) => name.length + usage.length + 1));
  const lines = COMMANDS.map(
    ({ name, usage, summary }) => `  ${`${name} ${usage}`.trim().padEnd(width)}  ${summary}`,
  );
  return [
    'usage: turnpike COMMAND …',
    '',
    ...lines,
    `  ${'settings'.padEnd(width)}  Prints every setting with its default and its meaning.`,
  ].join('\n');
}
