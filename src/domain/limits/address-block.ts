/**
 * The unit by which an address is counted: the address itself or, for IPv6, its /64 network. Every customer of a provider
 * has at least that many addresses, so counting single ones would be useless. IPv4-mapped IPv6 addresses count as IPv4.
 */
export function addressBlock(address: string): string {
  if (!address.includes(':')) return address;
  const groups = groupsOf(address);
  if (groups === null) return address;
  const [, , , , , isMapped, high = 0, low = 0] = groups;
  if (groups.slice(0, 5).every((group) => group === 0) && isMapped === 0xffff) {
    return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
  }
  const network = groups.slice(0, 4).map((group) => group.toString(16));
  return `${network.join(':')}::/64`;
}

/** The eight groups of an IPv6 address; null if it is not one. */
function groupsOf(address: string): readonly number[] | null {
  const [plain = ''] = address.split('%');
  const [before = '', after, ...rest] = plain.split('::');
  if (rest.length > 0) return null;
  const head = numbersOf(before);
  if (head === null || after === undefined) return head?.length === GROUPS ? head : null;
  const tail = numbersOf(after);
  if (tail === null || head.length + tail.length >= GROUPS) return null;
  return [...head, ...Array.from({ length: GROUPS - head.length - tail.length }, () => 0), ...tail];
}

const GROUPS = 8;
const GROUP = /^[0-9a-f]{1,4}$/i;
const DOTTED = /^\d{1,3}(?:\.\d{1,3}){3}$/;

function numbersOf(text: string): readonly number[] | null {
  if (text === '') return [];
  const groups = text.split(':').flatMap((group): number[] => {
    if (GROUP.test(group)) return [Number.parseInt(group, 16)];
    if (!DOTTED.test(group)) return [Number.NaN];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
  return groups.some((group) => !(group <= 0xffff)) ? null : groups;
}
