import { expect, test } from 'bun:test';
import { isLegacyRequest } from '@modelcontextprotocol/server';
import { eraOf } from './serve-message.ts';

const NAMED = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
const WHOLE = { ...NAMED, 'io.modelcontextprotocol/clientCapabilities': {} };

const PARAMS: readonly unknown[] = [
  undefined,
  null,
  [],
  'text',
  {},
  { name: 'chat', arguments: {} },
  { _meta: {} },
  { _meta: null },
  { _meta: { progressToken: 1 } },
  { _meta: NAMED },
  { name: 'chat', _meta: WHOLE },
  { _meta: { 'io.modelcontextprotocol/protocolVersion': 7 } },
  { _meta: { 'io.modelcontextprotocol/protocolVersion': '2025-11-25' } },
];
const VERSIONS = [
  null,
  '2024-11-05',
  '2025-03-26',
  '2025-11-25',
  '2026-07-28',
  '2027-01-01',
  ' 2025-11-25',
  'x',
  '',
];
const IDS: readonly unknown[] = [undefined, null, 7, 1.5, 'a', {}];
const METHODS: readonly unknown[] = ['tools/call', 'initialize', undefined];
const MORE = [{}, { result: {} }, { error: { code: 1, message: 'x' } }];

function* messages(): Generator<unknown> {
  yield* [undefined, null, [], 'text', 7, {}];
  for (const params of PARAMS) {
    for (const id of IDS) {
      for (const method of METHODS) {
        for (const more of MORE) yield { jsonrpc: '2.0', id, method, params, ...more };
      }
    }
    yield { jsonrpc: '1.0', id: 1, method: 'ping', params };
    yield { id: 1, method: 'ping', params };
    yield [{ jsonrpc: '2.0', id: 1, method: 'ping', params }];
  }
}

test('G-46 the protocol era of a message matches the library’s, for any message', async () => {
  const disagreed: string[] = [];
  for (const version of VERSIONS) {
    const headers = version === null ? {} : { 'mcp-protocol-version': version };
    const request = new Request('http://gateway.test/mcp', { method: 'POST', headers });
    for (const message of messages()) {
      // What JSON cannot say never arrives; undefined fields are absent ones.
      const body = message === undefined ? null : JSON.parse(JSON.stringify(message));
      const expected = (await isLegacyRequest(request, body)) ? '2025' : '2026';
      if ((await eraOf(request, body)) !== expected) disagreed.push(`${version} ${JSON.stringify(body)}`);
    }
  }
  expect(disagreed).toEqual([]);
});
