import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Clock } from '../../ports/clock.ts';
import type { LocalFaults } from '../../ports/local-faults.ts';
import type { ApproveHost, HostApproval } from '../../ports/outgoing-addresses.ts';

interface ApproveHostParts {
  readonly clock: Clock;
  /** Internal networks that may be called, such as 10.0.0.0/8. */
  readonly allowed: readonly string[] | 'all';
  /** The setting that allows networks, named in the message. */
  readonly setting?: string;
  /**
   * True if companies set addresses: an internal name and one that does not exist get the same problem, without an
   * address, so that internal names cannot be discovered by trying them.
   */
  readonly hidesInside?: boolean;
  /** True if an HTTP proxy resolves names: a name that does not resolve here is approved without addresses. */
  readonly hasProxy?: boolean;
  /** All addresses of a name. Null, or an error, if the resolver did not answer, which differs from having none. */
  readonly addressesOf?: (hostname: string) => Promise<readonly string[] | null>;
  /** The addresses of this machine, including public ones: services that listen on them are internal. */
  readonly ownAddresses?: () => readonly string[];
  readonly localFaults?: Pick<LocalFaults, 'explain'>;
}

/**
 * How long the addresses of a name are cached. `fetch` resolves the name again when it connects, and its DNS may answer
 * differently then. Only a client that connects to the approved addresses closes that gap.
 */
const FRESH_MS = 10_000;
/** If the resolver does not answer, the last approval is used for this long. */
const STALE_MS = 300_000;
const MOST_HOSTS = 256;

/**
 * Addresses that are not on the internet (IANA's special-purpose registries), and 168.63.129.16, through which Azure's
 * machines reach their platform. The metadata services of other clouds are in link-local, shared and unique-local
 * networks.
 */
const INSIDE_IPV4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '168.63.129.16/32', '169.254.0.0/16'],
  ...['172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15'],
  ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
];
/**
 * Only global unicast is the internet. Loopback, mapped and compatible IPv4, unique-local, link-local and multicast
 * addresses are not part of it.
 */
const GLOBAL_IPV6 = ['2000::/3'];
/** Parts of global unicast that are not the internet: Teredo and other protocols, documentation, 6to4. */
const INSIDE_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];
/** On networks without IPv4, the resolver embeds an IPv4 address after this prefix. */
const NAT64 = '64:ff9b::/96';

/**
 * Providers are on the internet. A host that is internal, by its own address or by any address of its name, is refused
 * unless its network is allowed: otherwise a user who may set an address could read what only this machine can reach. A
 * name without an address is refused too, because another resolver may find one. Fails closed.
 */
export function createApproveHost(parts: ApproveHostParts): ApproveHost {
  const { clock, hasProxy = false, addressesOf = lookUp, ownAddresses = addressesOfThisMachine } = parts;
  const { setting = 'UPSTREAM_PRIVATE_NETWORKS', hidesInside = false, localFaults } = parts;
  const isInternet = createIsInternet();
  const allowed = parts.allowed === 'all' ? null : listOf(parts.allowed);
  const known = new Map<string, { readonly approval: HostApproval; readonly atMs: number }>();
  const running = new Map<string, Promise<HostApproval>>();

  function approveAddresses(hostname: string, addresses: readonly string[]): HostApproval {
    const own = allowed === null ? [] : ownAddresses();
    for (const address of addresses) {
      if (allowed === null || allowed.check(address, familyOf(address))) continue;
      if (!isInternet(address) || own.includes(address)) return inside(hostname, address);
    }
    return { outcome: 'approved', addresses };
  }

  function inside(hostname: string, address: string): HostApproval {
    if (hidesInside) return { outcome: 'inside', problem: hiddenProblem(hostname, setting) };
    const shown = hostname === address ? hostname : `${hostname} (${address})`;
    const problem = `${shown} is inside the network: allow its network with ${setting}`;
    return { outcome: 'inside', problem };
  }

  function unresolved(hostname: string): HostApproval {
    if (hidesInside) return { outcome: 'unresolved', problem: hiddenProblem(hostname, setting) };
    const problem = `${hostname} has no address: check the name and the resolver`;
    return { outcome: 'unresolved', problem };
  }

  async function lookedUp(name: string): Promise<readonly string[] | 'unanswered' | 'local-fault'> {
    if (isLocalName(name)) return ['127.0.0.1', '::1'];
    try {
      return (await addressesOf(name)) ?? 'unanswered';
    } catch (error) {
      if (localFaults?.explain(error) != null) return 'local-fault';
      return NO_SUCH_NAME.has((error as { code?: string }).code ?? '') ? [] : 'unanswered';
    }
  }

  async function resolve(name: string): Promise<HostApproval> {
    const found = await lookedUp(name);
    const last = known.get(name);
    const isAnswered = typeof found !== 'string';
    if (!isAnswered && last?.approval.outcome === 'approved' && ageOf(last.atMs) < STALE_MS) {
      return last.approval;
    }
    // Not remembered: it ends when something is free again.
    if (found === 'local-fault') return { outcome: found, problem: LOCAL_FAULT };
    const addresses = isAnswered ? found : [];
    const approval = decide(name, addresses);
    known.delete(name);
    if (known.size >= MOST_HOSTS) known.delete(known.keys().next().value ?? '');
    known.set(name, { approval, atMs: clock.now() });
    return approval;
  }

  function decide(name: string, addresses: readonly string[]): HostApproval {
    if (addresses.length > 0) return approveAddresses(name, addresses);
    return hasProxy ? { outcome: 'approved', addresses } : unresolved(name);
  }

  /** An entry from the future counts as expired, so that setting the clock back keeps none valid for longer. */
  function ageOf(atMs: number): number {
    const ageMs = clock.now() - atMs;
    return ageMs < 0 ? STALE_MS : ageMs;
  }

  return (hostname) => {
    const last = known.get(hostname);
    if (last !== undefined && ageOf(last.atMs) < FRESH_MS) return last.approval;
    const name = canonicalHost(hostname);
    if (name === null) return unresolved(hostname);
    if (isIP(name) !== 0) return approveAddresses(name, [name]);
    const lately = known.get(name);
    if (lately !== undefined && ageOf(lately.atMs) < FRESH_MS) return lately.approval;
    // Calls that arrive while a name is being resolved wait for the same result.
    const joined = running.get(name) ?? resolve(name).finally(() => running.delete(name));
    running.set(name, joined);
    return joined;
  };
}

function hiddenProblem(hostname: string, setting: string): string {
  return `${hostname} is inside the network or has no address: check the name, or allow its network with ${setting}`;
}

/**
 * A single spelling for each host: lower case, without brackets and trailing dot, and IPv4 in decimal, octal,
 * hexadecimal or with fewer parts as a.b.c.d. Null for a host that a URL cannot contain.
 */
function canonicalHost(hostname: string): string | null {
  const bare = hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname;
  const isIpv6 = isIP(bare) === 6;
  if (!isIpv6 && /[\s:/?#@[\]\\]/.test(hostname)) return null;
  const url = URL.parse(`http://${isIpv6 ? `[${bare}]` : bare}/`);
  const name = url?.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '') ?? '';
  return name === '' || name.endsWith('.') ? null : name;
}

/** RFC 6761: these names are loopback, whatever a resolver returns. */
function isLocalName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost');
}

function createIsInternet(): (address: string) => boolean {
  const insideIpv4 = listOf(INSIDE_IPV4);
  const globalIpv6 = listOf(GLOBAL_IPV6);
  const insideIpv6 = listOf(INSIDE_IPV6);
  const nat64 = listOf([NAT64]);
  return (address) => {
    if (isIP(address) === 4) return !insideIpv4.check(address, 'ipv4');
    if (isIP(address) !== 6) return false;
    // The NAT64 connects to an IPv4 address.
    if (nat64.check(address, 'ipv6')) return !insideIpv4.check(lastFourBytes(address), 'ipv4');
    return globalIpv6.check(address, 'ipv6') && !insideIpv6.check(address, 'ipv6');
  };
}

/** The last four bytes of an IPv6 address in IPv4 notation. */
function lastFourBytes(address: string): string {
  const dotted = /(\d+\.\d+\.\d+\.\d+)$/.exec(address)?.[1];
  if (dotted !== undefined) return dotted;
  const groups = address.split(':').map((group) => Number.parseInt(group === '' ? '0' : group, 16));
  const [high = 0, low = 0] = address.endsWith('::') ? [0, 0] : groups.slice(-2);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** The resolver's definite answers that a name has no address; any other error is a failure of the resolver. */
const NO_SUCH_NAME = new Set([
  'ENOTFOUND',
  'ENODATA',
  'ENONAME',
  'EAI_NONAME',
  'EAI_NODATA',
  'DNS_ENOTFOUND',
]);

const LOCAL_FAULT = 'no name can be resolved right now, because this machine lacks what a connection needs';

async function lookUp(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true, verbatim: true });
  return found.map(({ address }) => address);
}

function addressesOfThisMachine(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((own) => (own ?? []).map(({ address }) => address));
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits = ''] = network.split('/');
    const family = familyOf(address);
    list.addSubnet(address, bits === '' ? (family === 'ipv6' ? 128 : 32) : Number(bits), family);
  }
  return list;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4';
}
