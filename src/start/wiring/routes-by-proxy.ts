import type { ModelUpstream } from '../../ports/model-upstream.ts';
import type { UsesProxy } from '../../ports/outgoing-addresses.ts';
import type { WebhookSender } from '../../ports/webhooks/webhook-sender.ts';

/** The client for URLs that a proxy carries, and the one for all others, which connects to approved addresses alone. */
interface Routes<Client> {
  readonly usesProxy: UsesProxy;
  readonly proxied: Client;
  readonly direct: Client;
}

export function upstreamByRoute(
  routes: Routes<ModelUpstream & { close(): void }>,
): ModelUpstream & { close(): void } {
  const { proxied, direct } = routes;
  return {
    send: (target, call) => clientFor(routes, target.baseUrl).send(target, call),
    close() {
      proxied.close();
      direct.close();
    },
  };
}

export function senderByRoute(routes: Routes<WebhookSender>): WebhookSender {
  return {
    send: (webhook) => clientFor(routes, webhook.url).send(webhook),
    addressProblem: (address) => clientFor(routes, address).addressProblem(address),
  };
}

function clientFor<Client>({ usesProxy, proxied, direct }: Routes<Client>, address: string | null): Client {
  const url = address === null ? null : URL.parse(address);
  return url !== null && usesProxy(url) ? proxied : direct;
}
