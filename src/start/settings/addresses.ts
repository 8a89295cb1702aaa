import type { Configuration } from './configuration.ts';

/** The base URL of each service. */
export type ServiceAddresses = Readonly<Record<keyof Configuration['ports'], string>>;

/** The configured addresses. A port of 0 is known only once its server listens. */
export function configuredAddresses({ host, ports }: Configuration): ServiceAddresses {
  const address = (port: number) => reachable(`http://${host.includes(':') ? `[${host}]` : host}:${port}`);
  return {
    gateway: address(ports.gateway),
    backend: address(ports.backend),
    ai: address(ports.ai),
    sandbox: address(ports.sandbox),
  };
}

/** The address at which users open the console, for links in mails and the payment provider's redirects. */
export function consoleUrl(configuration: Configuration): string {
  return configuration.consoleUrl ?? configuredAddresses(configuration).backend;
}

/** The address at which the console's playground calls the models. */
export function gatewayUrl(configuration: Configuration): string {
  const origin = configuration.gatewayUrl ?? configuredAddresses(configuration).gateway;
  return `${origin.replace(/\/+$/, '')}/llm/v1`;
}

/** The settings without which links in mails and in the console lead to this machine, where only its own users get. */
export function addressesToSet({
  isProduction,
  consoleUrl,
  gatewayUrl,
}: Pick<Configuration, 'isProduction' | 'consoleUrl' | 'gatewayUrl'>): readonly string[] {
  if (!isProduction) return [];
  const addresses = { CONSOLE_URL: consoleUrl, GATEWAY_URL: gatewayUrl };
  return Object.entries(addresses).flatMap(([name, address]) => (address === null ? [name] : []));
}

/** A server that listens on all interfaces is reached through loopback. */
export function reachable(url: string): string {
  return url.replace(/^http:\/\/(0\.0\.0\.0|\[::\])(?=:)/, 'http://127.0.0.1');
}
