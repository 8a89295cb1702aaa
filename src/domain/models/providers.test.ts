import { describe, expect, test } from 'bun:test';
import { PROVIDER_PRESETS, problemWithProvider, speaks, wireOf } from './providers.ts';

const BASE = {
  provider: 'openai',
  responses: null,
  apiVersion: null,
  headers: {},
  baseUrl: 'https://one.example/v1',
};

describe('presets of providers', () => {
  test('only OpenAI and Azure have the Responses API, unless the target is set otherwise', () => {
    const target = { id: '1', baseUrl: 'https://one.example/v1', model: 'm', apiKey: null };
    const speaking = PROVIDER_PRESETS.filter(({ name }) => {
      const wire = wireOf({ ...BASE, provider: name }, 1);
      return wire !== null && speaks({ ...target, wire }, 'responses');
    });
    expect(speaking.map(({ name }) => name)).toEqual(['openai', 'azure']);
    const vllm = wireOf({ ...BASE, provider: 'vllm', responses: true }, 1);
    const openai = wireOf({ ...BASE, responses: false }, 1);
    if (vllm === null || openai === null) throw new Error('both are presets');
    expect(speaks({ ...target, wire: vllm }, 'responses')).toBe(true);
    expect(speaks({ ...target, wire: openai }, 'responses')).toBe(false);
    expect(speaks({ ...target, wire: openai }, 'chat/completions')).toBe(true);
    expect(speaks(target, 'responses')).toBe(true);
    expect(speaks({ ...target, baseUrl: null }, 'responses')).toBe(false);
  });

  test('OpenAI itself gets the newer name of the maximum, another server with its preset the older one', () => {
    expect(wireOf(BASE, 1)?.maxTokensName).toBe('max_tokens');
    const openai = { ...BASE, baseUrl: 'https://api.openai.com/v1' };
    expect(wireOf(openai, 1)?.maxTokensName).toBe('max_completion_tokens');
  });

  test('G-28 where Gemini and xAI count reasoning is known, at their own addresses under any preset', () => {
    const counted = (baseUrl: string, provider = 'compatible') =>
      wireOf({ ...BASE, baseUrl, provider }, 1)?.reasoning;
    const named = PROVIDER_PRESETS.map(({ name }) => [name, counted(BASE.baseUrl, name)]);
    expect(named.filter(([, where]) => where !== 'by-numbers')).toEqual([
      ['gemini', 'in-total'],
      ['xai', 'beside'],
    ]);
    expect(counted('https://generativelanguage.googleapis.com/v1beta/openai')).toBe('in-total');
    expect(counted('https://api.x.ai/v1')).toBe('beside');
    expect(counted('https://api.x.ai.example/v1')).toBe('by-numbers');
  });

  test('without Responses a target has nothing beside it, and a server with it is not expected to count', () => {
    const named = (provider: string, responses: boolean) =>
      wireOf({ ...BASE, provider, responses }, 1)?.endpoints.filter((one) => one.startsWith('responses'));
    expect(named('openai', false)).toEqual([]);
    expect(named('openai', true)).toEqual(['responses', 'responses/input_tokens', 'responses/compact']);
    expect(named('vllm', true)).toEqual(['responses']);
  });

  test.each([
    ['an unknown provider', { provider: 'acme' }, 'there is no provider "acme"'],
    [
      'azure without a version',
      { provider: 'azure', baseUrl: 'https://me.openai.azure.com' },
      'needs an API version',
    ],
    ['a version elsewhere', { apiVersion: '2024-10-21' }, 'belongs to the provider azure'],
    ['a version that is none', { provider: 'azure', apiVersion: 'a b' }, 'must be like'],
    ['our own header', { headers: { Authorization: 'x' } }, 'set by the gateway itself'],
    ['a line break in a value', { headers: { 'x-a': 'secret\r\nhost: b' } }, 'visible ASCII'],
    ['a space in a name', { headers: { 'x a': 'b' } }, 'letters, digits and dashes'],
    [
      'too many headers',
      { headers: Object.fromEntries([...Array(17).keys()].map((n) => [`x-${n}`, ''])) },
      'more than 16',
    ],
  ])('%s is refused, and no value is repeated', (_what, change, problem) => {
    const said = problemWithProvider({ ...BASE, ...change });
    expect(said?.problem).toContain(problem);
    expect(said?.problem).not.toContain('secret');
  });

  test.each([
    ['azure with a version', { provider: 'azure', apiVersion: '2024-10-21' }],
    [
      'azure by its versioned address',
      { provider: 'azure', baseUrl: 'https://me.openai.azure.com/openai/v1' },
    ],
    ['headers', { headers: { 'OpenAI-Organization': 'org-1', 'x-empty': '' } }],
  ])('%s is valid', (_what, change) => {
    expect(problemWithProvider({ ...BASE, ...change })).toBeNull();
  });
});
