import { createApproveHost } from '../../adapters/outgoing-addresses/approve-host.ts';
import { createWebhookSender } from '../../adapters/webhook-sender/webhook-sender.ts';
import type { Cipher } from '../../domain/models/cipher.ts';
import type { WebhookSender } from '../../ports/webhooks/webhook-sender.ts';
import type { Parts } from './connect.ts';
import { catalogueParts } from './open-models.ts';
import { senderByRoute } from './routes-by-proxy.ts';

/**
 * The parts for sending alerts to channels. Companies set the addresses, so these have their own list of allowed
 * private networks, which is empty in production by default: companies must not reach the networks in which an operator
 * runs providers.
 */
export function alertParts(parts: Parts): { readonly webhooks: WebhookSender; readonly cipher: Cipher } {
  return { webhooks: openAlertWebhooks(parts), cipher: catalogueParts(parts).cipher };
}

/**
 * Each request connects to an approved address, so that the owner of a name cannot return others the second time. Only
 * what a proxy carries is left to the runtime's fetch, and only there may a name have no address here.
 */
function openAlertWebhooks({ configuration, clock, localFaults }: Parts): WebhookSender {
  const { usesProxy, alerts } = configuration;
  const rules = {
    clock,
    allowed: alerts.privateNetworks,
    setting: 'ALERT_PRIVATE_NETWORKS',
    hidesInside: true,
    localFaults,
  };
  const sender = (connects: 'approved' | 'runtime') => {
    const hasProxy = connects === 'runtime';
    const approveHost = rules.allowed === 'all' ? null : createApproveHost({ ...rules, hasProxy });
    return createWebhookSender({ clock, approveHost, connects, localFaults });
  };
  const direct = sender('approved');
  return usesProxy === null ? direct : senderByRoute({ usesProxy, proxied: sender('runtime'), direct });
}
