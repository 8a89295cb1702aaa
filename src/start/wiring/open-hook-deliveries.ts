import { createWebhookSender } from '../../adapters/webhook-sender/webhook-sender.ts';
import type { HookDeliveryParts } from '../../domain/call-hooks/hook-deliveries.ts';
import type { WebhookSender } from '../../ports/webhooks/webhook-sender.ts';
import type { Parts } from './connect.ts';
import { openApproveHost } from './open-models.ts';

/** For the job that resends what the hook after calls did not accept. */
export function hookDeliveryParts(opening: Parts): HookDeliveryParts {
  const { configuration, database, databaseClock: clock, log } = opening;
  const { afterUrl, secrets, keepDays } = configuration.callHooks;
  const hook = afterUrl === null ? null : { url: afterUrl, secrets };
  return { database, clock, log, webhooks: hookWebhooks(opening), hook, keepDays };
}

export function hookWebhooks(parts: Parts): WebhookSender {
  return createWebhookSender({
    ...{ clock: parts.clock, approveHost: openApproveHost(parts), connects: 'runtime' },
    localFaults: parts.localFaults,
  });
}
