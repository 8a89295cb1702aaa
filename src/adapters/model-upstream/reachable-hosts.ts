import { lookup } from 'node:dns/promises';
import { BlockList, isIP } from 'node:net';
import type { Clock } from '../../ports/clock.ts';

/** Says whether calls may go to a host. At once where it was asked lately. */
export type MayReach = (hostname: string) => boolean | Promise<boolean>;

interface ReachableHostsParts {
  readonly clock: Clock;
  /** Networks inside of which providers may stand all the same, such as 10.0.0.0/8. */
  readonly allowed: readonly string[];
  /** All addresses of a name; none where it has none. */
  readonly addressesOf?: (hostname: string) => Promise<readonly string[]>;
}

/** How long a name's addresses are believed. Whoever can change them between this look and fetch's own is the limit of it. */
const KNOWN_MS = 10_000;
const MOST_HOSTS = 256;

/** Loopback, private, link-local (where clouds answer for their credentials), shared, test, multicast and the rest that is not the internet. */
const INSIDE = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24'],
  ...['203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  ...['::/128', '::1/128', '64:ff9b::/96', '64:ff9b:1::/48', '100::/64', '2001::/23'],
  ...['2001:db8::/32', '2002::/16', 'fc00::/7', 'fe80::/10', 'ff00::/8'],
];

/**
 * Providers stand in the internet. An address that points inside the network, by its number or by its name's, is
 * refused unless its network is allowed: whoever may set an alias's target could otherwise read what only this machine
 * can reach. A name counts as inside where one of its addresses is.
 */
export function createReachableHosts(parts: ReachableHostsParts): MayReach {
  const { clock, addressesOf = lookUp } = parts;
  const inside = listOf(INSIDE);
  const allowed = listOf(parts.allowed);
  const known = new Map<string, { readonly may: boolean; readonly untilMs: number }>();

  function mayAddress(address: string): boolean {
    // An IPv4 address in the clothes of the other family: nobody writes a provider's so.
    if (address.toLowerCase().startsWith('::ffff:')) return false;
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    return allowed.check(address, family) || !inside.check(address, family);
  }

  async function ask(hostname: string): Promise<boolean> {
    const addresses = await addressesOf(hostname);
    // A name without addresses is fetch's to fail at, with its own reason.
    const may = addresses.every(mayAddress);
    known.delete(hostname);
    if (known.size >= MOST_HOSTS) known.delete(known.keys().next().value ?? '');
    known.set(hostname, { may, untilMs: clock.now() + KNOWN_MS });
    return may;
  }

  return (bracketed) => {
    const hostname = bracketed.replace(/^\[|\]$/g, '');
    if (isIP(hostname) !== 0) return mayAddress(hostname);
    const lately = known.get(hostname);
    return lately !== undefined && clock.now() < lately.untilMs ? lately.may : ask(hostname);
  };
}

async function lookUp(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true }).catch(() => []);
  return found.map(({ address }) => address);
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits = ''] = network.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    list.addSubnet(address, bits === '' ? (family === 'ipv6' ? 128 : 32) : Number(bits), family);
  }
  return list;
}
