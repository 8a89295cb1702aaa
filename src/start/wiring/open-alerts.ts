import { createApproveHost } from '../../adapters/outgoing-addresses/approve-host.ts';
import { createWebhookSender } from '../../adapters/webhook-sender/webhook-sender.ts';
import type { Cipher } from '../../domain/models/cipher.ts';
import type { WebhookSender } from '../../ports/webhooks/webhook-sender.ts';
import type { Parts } from './connect.ts';
import { catalogueParts } from './open-models.ts';

/**
 * The parts for sending alerts to channels. Companies set the addresses, so these have their own list of allowed
 * private networks, which is empty in production by default: companies must not reach the networks in which an operator
 * runs providers.
 */
export function alertParts(parts: Parts): { readonly webhooks: WebhookSender; readonly cipher: Cipher } {
  const { configuration, clock } = parts;
  const { privateNetworks: allowed } = configuration.alerts;
  const setting = 'ALERT_PRIVATE_NETWORKS';
  const { hasHttpProxy: hasProxy } = configuration;
  const rules = { clock, allowed, hasProxy, setting, hidesInside: true };
  const approveHost = allowed === 'all' ? null : createApproveHost(rules);
  const connects = hasProxy ? 'runtime' : 'approved';
  return {
    webhooks: createWebhookSender({ clock, approveHost, connects }),
    cipher: catalogueParts(parts).cipher,
  };
}
