import { isIP } from 'node:net';
import type { UsesProxy } from '../../ports/outgoing-addresses.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What is requested there leaves no machine: a start requests its own servers, and no proxy could reach them. */
const OWN_HOSTS = ['localhost', '127.0.0.1', '::1'];

/** Excepts this machine from the proxy of the environment. The runtime reads the exceptions for each request. */
export function exceptOwnHosts<Given extends Record<string, string | undefined>>(environment: Given): Given {
  if (httpProxyOf(environment) === null) return environment;
  const name: string = environment.no_proxy ? 'no_proxy' : 'NO_PROXY';
  const own = [...OWN_HOSTS, environment.HOST?.trim() ?? ''];
  const exceptions = new Set([...exceptionsIn(environment), ...own].filter((entry) => entry !== ''));
  return Object.assign(environment, { [name]: [...exceptions].join(',') });
}

/**
 * Which URLs the runtime's fetch sends through a proxy of the environment; null if there is no proxy. A request that fetch
 * sends directly resolves its name once more, so what is not proxied is sent by our own clients.
 */
export function httpProxyOf(environment: Environment): UsesProxy | null {
  const named = (name: string) => environment[name.toLowerCase()] || environment[name] || '';
  const all = named('ALL_PROXY');
  const proxies: Readonly<Record<string, string>> = {
    'http:': named('HTTP_PROXY') || all,
    'https:': named('HTTPS_PROXY') || all,
  };
  if (!Object.values(proxies).some((proxy) => proxy !== '')) return null;
  const exceptions = exceptionsIn(environment);
  return (url) => (proxies[url.protocol] ?? '') !== '' && !exceptions.some((entry) => excepts(entry, url));
}

function exceptionsIn(environment: Environment): readonly string[] {
  return (environment.no_proxy || environment.NO_PROXY || '')
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '');
}

/** A name excepts its subdomains too. Networks such as 10.0.0.0/8 only concern addresses, which nothing resolves. */
function excepts(entry: string, url: URL): boolean {
  if (entry === '*') return true;
  const host = url.hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '');
  if (isIP(entry) === 6) return host === entry;
  const [, name = '', port = ''] = /^(?:\*?\.)*\[?(.*?)\]?\.?(?::(\d+))?$/.exec(entry) ?? [];
  if (name === '' || (port !== '' && port !== portOf(url))) return false;
  return host === name || (isIP(host) === 0 && host.endsWith(`.${name}`));
}

function portOf({ protocol, port }: URL): string {
  return port !== '' ? port : protocol === 'https:' ? '443' : '80';
}
