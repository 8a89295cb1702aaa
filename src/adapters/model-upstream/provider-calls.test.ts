import { describe, expect, test } from 'bun:test';
import type { ModelEndpoint, TargetWire, UpstreamTarget } from '../../ports/model-upstream.ts';
import { addressOf, callerHeaders, ourHeaders } from './provider-calls.ts';

const WIRE: TargetWire = {
  provider: 'openai',
  endpoints: [],
  keyHeader: 'authorization',
  headers: {},
  defaultHeaders: {},
  apiVersion: null,
  maxTokensName: 'max_tokens',
  hasStreamOptions: true,
  reasoning: 'by-numbers',
  maxOutputTokens: 1_000,
};

function target(baseUrl: string, wire: Partial<TargetWire> | null = null, model = 'm'): UpstreamTarget {
  const plain = { id: '1', baseUrl, model, apiKey: 'secret' };
  return wire === null ? plain : { ...plain, wire: { ...WIRE, ...wire } };
}

describe('how a provider is addressed', () => {
  const azure = { provider: 'azure', apiVersion: '2024-10-21' };
  const anthropic = { provider: 'anthropic' };
  const cases: readonly [UpstreamTarget, ModelEndpoint, string][] = [
    [target('https://a.example/v1'), 'chat/completions', 'https://a.example/v1/chat/completions'],
    [target('https://a.example/v1', {}), 'responses', 'https://a.example/v1/responses'],
    [target('https://api.anthropic.com', anthropic), 'messages', 'https://api.anthropic.com/v1/messages'],
    [target('https://api.anthropic.com/v1', anthropic), 'messages', 'https://api.anthropic.com/v1/messages'],
    [
      target('https://me.openai.azure.com', azure, 'gpt 4o'),
      'chat/completions',
      'https://me.openai.azure.com/openai/deployments/gpt%204o/chat/completions?api-version=2024-10-21',
    ],
    [
      target('https://me.openai.azure.com/openai', azure),
      'responses',
      'https://me.openai.azure.com/openai/responses?api-version=2024-10-21',
    ],
    [
      target('https://me.openai.azure.com/openai/v1', { provider: 'azure' }),
      'chat/completions',
      'https://me.openai.azure.com/openai/v1/chat/completions',
    ],
  ];
  for (const [to, endpoint, address] of cases) {
    test(`${to.wire?.provider ?? 'no preset'}: ${address}`, () => {
      expect(addressOf(to, endpoint)).toBe(address);
    });
  }

  test('the key is in the header of its provider and in no other', () => {
    const keyed = (wire: Partial<TargetWire>) => {
      const { authorization, 'x-api-key': x, 'api-key': api } = ourHeaders(target('https://a.example', wire));
      return { authorization, x, api };
    };
    expect(keyed({})).toEqual({ authorization: 'Bearer secret', x: undefined, api: undefined });
    expect(keyed({ keyHeader: 'x-api-key' })).toEqual({
      authorization: undefined,
      x: 'secret',
      api: undefined,
    });
    expect(keyed({ keyHeader: 'api-key' })).toEqual({
      authorization: undefined,
      x: undefined,
      api: 'secret',
    });
  });

  test('headers of the operator replace the client’s, which replace defaults', () => {
    const to = target('https://a.example', {
      headers: { 'X-Team': 'ours', 'User-Agent': 'us', 'Content-Type': 'text/plain' },
      defaultHeaders: { 'anthropic-version': '2023-06-01' },
    });
    expect(ourHeaders(to)).toMatchObject({
      'x-team': 'ours',
      'user-agent': 'us',
      'content-type': 'application/json',
    });
    expect(callerHeaders({}, to)).toEqual({ 'anthropic-version': '2023-06-01' });
    expect(callerHeaders({ 'Anthropic-Version': '2024-01-01' }, to)).toEqual({
      'anthropic-version': '2024-01-01',
    });
    const headers = { traceparent: '1' };
    expect(callerHeaders(headers, target('https://a.example', {}))).toBe(headers);
  });
});
