import { auditCommand } from './audit.ts';
import type { Command } from './command.ts';
import { companiesCommand } from './companies.ts';
import { createSuperAdmin } from './create-super-admin.ts';
import { adjustCreditsCommand } from './credit-commands.ts';
import {
  invoiceMonthCommand,
  invoicesCommand,
  markInvoicePaidCommand,
  setBillingCommand,
  voidInvoiceCommand,
} from './invoice-commands.ts';
import { issueToken } from './issue-token.ts';
import { keysCommand, mintKeyCommand, revokeKeyCommand, rotateKeyCommand } from './key-commands.ts';
import { migrateCommand } from './migrate.ts';
import { aliasesCommand, setAliasCommand } from './model-commands.ts';
import { paymentEventsCommand, replayPaymentEventCommand } from './payment-event-commands.ts';
import { pricesCommand, setPriceCommand } from './price-commands.ts';
import { queueCommand, redriveCommand } from './queue-commands.ts';
import { resealKeysCommand } from './reseal-keys.ts';
import { deactivateStaleSubscriptionsCommand } from './stale-subscriptions.ts';
import { statementCommand } from './statement.ts';
import { verifyDeployment } from './verify-deployment.ts';
import { createWebhookEndpointCommand, recreateWebhookEndpointCommand } from './webhook-endpoint.ts';

/** Everything an operator can type after `turnpike`, besides `help` and `settings`. */
export const COMMANDS: readonly Command[] = [
  migrateCommand,
  createSuperAdmin,
  issueToken,
  companiesCommand,
  keysCommand,
  mintKeyCommand,
  rotateKeyCommand,
  revokeKeyCommand,
  aliasesCommand,
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
  paymentEventsCommand,
  replayPaymentEventCommand,
  deactivateStaleSubscriptionsCommand,
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
