import { describe, expect, test } from 'bun:test';
import { createClientAddress, readNetwork } from './client-identity.ts';

function from(peer: string, forwardedFor: string | null, trusted: readonly string[]): string {
  const headers: Record<string, string> = forwardedFor === null ? {} : { 'x-forwarded-for': forwardedFor };
  return createClientAddress(trusted)(new Request('http://x/', { headers }), peer);
}

describe('G-39 the client address of a request', () => {
  test('G-39 is the peer where no proxy is configured, whatever the header contains', () => {
    expect(from('203.0.113.9', '198.51.100.1', [])).toBe('203.0.113.9');
    expect(from('::ffff:203.0.113.9', null, [])).toBe('203.0.113.9');
  });

  test('G-39 is the one a configured proxy added, read from the right, past our own proxies only', () => {
    const trusted = ['10.0.0.0/8', '192.0.2.1'];
    expect(from('10.1.2.3', '198.51.100.1', trusted)).toBe('198.51.100.1');
    expect(from('10.1.2.3', '6.6.6.6, 198.51.100.1, 192.0.2.1', trusted)).toBe('198.51.100.1');
    expect(from('203.0.113.9', '198.51.100.1', trusted)).toBe('203.0.113.9');
    expect(from('10.1.2.3', '10.9.9.9, 10.8.8.8', trusted)).toBe('10.9.9.9');
  });

  test('invalid values in the header are ignored', () => {
    const trusted = ['10.0.0.0/8', 'fd00::/8'];
    for (const header of ['', 'unknown', '<script>', '1.2.3.4:99']) {
      expect(from('10.1.2.3', header, trusted)).toBe('10.1.2.3');
    }
    expect(from('fd00::1', '2001:db8::7', trusted)).toBe('2001:db8::7');
  });

  test('a network is an address with or without bits', () => {
    expect(readNetwork('10.0.0.0/8')).toEqual({ address: '10.0.0.0', bits: 8, family: 'ipv4' });
    expect(readNetwork('::1')).toEqual({ address: '::1', bits: 128, family: 'ipv6' });
    for (const wrong of ['', 'x', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0/8', '::/129']) {
      expect(readNetwork(wrong)).toBeNull();
    }
  });
});
