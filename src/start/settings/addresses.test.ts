import { expect, test } from 'bun:test';
import { addressesToSet, configuredAddresses, consoleUrl, gatewayUrl, reachable } from './addresses.ts';
import { readConfiguration } from './configuration.ts';

function configured(environment: Record<string, string>) {
  const read = readConfiguration('command-line', environment);
  if (read.outcome === 'refused') throw new Error(read.problems.join());
  return read.configuration;
}

test('services that listen on all interfaces are reached through loopback, others by their host', () => {
  const gatewayAt = (HOST: string) => configuredAddresses(configured({ HOST })).gateway;
  expect(['127.0.0.1', '0.0.0.0', '::', '::1', 'box.example'].map(gatewayAt)).toEqual([
    'http://127.0.0.1:8080',
    'http://127.0.0.1:8080',
    'http://127.0.0.1:8080',
    'http://[::1]:8080',
    'http://box.example:8080',
  ]);
  expect(reachable('http://[::]:4000')).toBe('http://127.0.0.1:4000');
});

test('the console and the gateway are at the configured addresses, else at their own', () => {
  const own = configured({ BACKEND_PORT: '9001', GATEWAY_PORT: '9000' });
  expect([consoleUrl(own), gatewayUrl(own)]).toEqual([
    'http://127.0.0.1:9001',
    'http://127.0.0.1:9000/llm/v1',
  ]);
  const set = configured({ CONSOLE_URL: 'https://a.example/', GATEWAY_URL: 'https://b.example/' });
  expect([consoleUrl(set), gatewayUrl(set)]).toEqual(['https://a.example', 'https://b.example/llm/v1']);
  expect(addressesToSet(own)).toEqual([]);
  const [isProduction, address] = [true, 'https://a.example'];
  expect(addressesToSet({ isProduction, consoleUrl: null, gatewayUrl: null })).toEqual([
    'CONSOLE_URL',
    'GATEWAY_URL',
  ]);
  expect(addressesToSet({ isProduction, consoleUrl: address, gatewayUrl: address })).toEqual([]);
});
