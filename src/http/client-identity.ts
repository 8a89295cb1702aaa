import { createHash, timingSafeEqual } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import type { MiddlewareHandler } from 'hono';
import { envelopeResponse, errorEnvelope } from './error-envelope.ts';

/** Returns the address of the client: the peer, or the client behind trusted proxies. */
export type ClientAddress = (request: Request, peerAddress: string) => string;

const FORWARDED_FOR = 'x-forwarded-for';
/** The longest chain of proxies that is trusted. */
const MOST_HOPS = 20;

/**
 * Reads the forwarded-for header from its right end, where trusted proxies append, as long as the address that added the
 * entry is trusted. Headers from other senders are ignored, because they would bypass the limit.
 */
export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  if (trustedProxies.length === 0) return (_, peerAddress) => plainAddress(peerAddress);
  const trusted = blockListOf(trustedProxies);
  const isTrusted = (address: string) => trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');

  return (request, peerAddress) => {
    let address = plainAddress(peerAddress);
    if (!isTrusted(address)) return address;
    const hops = (request.headers.get(FORWARDED_FOR) ?? '').split(',').slice(-MOST_HOPS);
    for (const hop of hops.reverse()) {
      const forwarded = plainAddress(hop.trim());
      if (isIP(forwarded) === 0) return address;
      address = forwarded;
      if (!isTrusted(address)) return address;
    }
    return address;
  };
}

/** Null if it is neither an address nor a network. */
export function readNetwork(text: string): { address: string; bits: number; family: 'ipv4' | 'ipv6' } | null {
  const [address = '', bitsText, ...rest] = text.split('/');
  const version = isIP(address);
  if (version === 0 || rest.length > 0) return null;
  const most = version === 6 ? 128 : 32;
  const bits = bitsText === undefined ? most : Number(bitsText);
  if (!Number.isInteger(bits) || bits < 0 || bits > most || bitsText === '') return null;
  return { address, bits, family: version === 6 ? 'ipv6' : 'ipv4' };
}

/** The token of `Authorization: Bearer …`; null if there is none in that form. */
export function bearerToken(request: Request): string | null {
  const match = /^Bearer +([^\s]+) *$/i.exec(request.headers.get('authorization') ?? '');
  return match?.[1] ?? null;
}

const NOT_INTERNAL =
  'This route is internal. Send "Authorization: Bearer <internal token>": the token is the INTERNAL_TOKEN ' +
  "setting, and on the embedded default it is internal_token in the data folder's demo.json.";

/** Admits requests with one of the tokens; all others get the same answer. Fails closed. */
export function internalAccess(tokens: readonly string[], message = NOT_INTERNAL): MiddlewareHandler {
  const refusal = errorEnvelope('authentication_error', message);
  return async (context, next) => {
    if (!holdsToken(context.req.raw, tokens)) {
      return envelopeResponse(401, refusal, { 'www-authenticate': 'Bearer' });
    }
    return await next();
  };
}

/** Whether the request's bearer token is one of these. */
export function holdsToken(request: Request, tokens: readonly string[]): boolean {
  const token = bearerToken(request);
  return token !== null && tokens.some((expected) => sameSecret(token, expected));
}

function blockListOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const text of networks) {
    const network = readNetwork(text);
    if (network !== null) list.addSubnet(network.address, network.bits, network.family);
  }
  return list;
}

/** An IPv4 address received over an IPv6 socket is the same client. */
function plainAddress(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice('::ffff:'.length) : address;
}

/** Whether two secrets are equal, in a time that does not reveal where they differ or how long they are. */
function sameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}
