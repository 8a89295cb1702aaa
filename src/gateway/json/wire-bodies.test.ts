import { describe, expect, test } from 'bun:test';
import { type Alias, DEFAULT_BOUNDS } from '../../domain/models/aliases.ts';
import { isHosted, planHosted } from '../admission/hosted-tools.ts';
import type { ClientWire } from './client-wire.ts';
import { type ModelBodyFields, readModelBody } from './request-body.ts';
import { rewriteModelBody } from './rewrite-body.ts';

const encode = (text: string) => new TextEncoder().encode(text);
const body = (members: string) => `{"model":"svc/a",${members}}`;

function fieldsOf(wire: ClientWire, text: string): ModelBodyFields {
  const read = readModelBody(encode(text), wire);
  if (read.outcome === 'invalid') throw new Error(`${read.message}: ${text}`);
  return read.fields;
}

const PLAIN: Alias = { alias: 'svc/a', kind: 'chat', targets: [], prices: [], ...DEFAULT_BOUNDS.chat };
const ENDPOINTS = { completions: 'chat/completions', responses: 'responses', messages: 'messages' } as const;

/** As admission finds it, on a model without hosted tools. */
function refusalOf(wire: ClientWire, members: string): string {
  const bytes = encode(body(members));
  const read = readModelBody(bytes, wire);
  if (read.outcome === 'invalid') return `${read.param}: ${read.message}`;
  const call = { alias: PLAIN, bytes, fields: read.fields };
  if (!isHosted(call)) return 'read';
  const planned = planHosted({ ...call, route: { wire, endpoint: ENDPOINTS[wire] } });
  return planned.outcome === 'planned' ? 'read' : `${planned.refusal.param}: ${planned.refusal.message}`;
}

const refusedAt = (wire: ClientWire, members: string) => refusalOf(wire, members).split(':')[0];

describe('bounds', () => {
  test('each wire has its own maximum, and other names do not reduce the hold', () => {
    expect(fieldsOf('responses', body('"max_output_tokens":7')).maxTokens).toBe(7);
    expect(fieldsOf('responses', body('"max_tokens":7,"max_completion_tokens":8')).maxTokens).toBeNull();
    expect(fieldsOf('messages', body('"max_tokens":7,"max_completion_tokens":9')).maxTokens).toBe(7);
    expect(fieldsOf('messages', body('"max_output_tokens":7')).maxTokens).toBeNull();
    expect(fieldsOf('completions', body('"max_output_tokens":7')).maxTokens).toBeNull();
  });

  test('the items of a Responses input are one prompt, those of embeddings several', () => {
    const items = '"input":[{"role":"user","content":"a"},{"role":"user","content":"b"}]';
    expect(fieldsOf('responses', body(items)).prompts).toBe(1);
    expect(fieldsOf('completions', body(items)).prompts).toBe(2);
  });

  test('only the model changes, and a maximum is added under the wire’s name', () => {
    const added = (wire: ClientWire, text: string, name: 'max_output_tokens' | 'max_tokens') => {
      const changes = { model: 'M', maxTokens: 9, maxTokensName: name, hasStreamOptions: false };
      const rewritten = rewriteModelBody(encode(text), fieldsOf(wire, text), changes);
      return new TextDecoder().decode(rewritten);
    };
    const whole = '{ "model" : "svc/a", "stream":true, "max_output_tokens":12345678901234567890 }';
    expect(added('responses', whole, 'max_output_tokens')).toBe(whole.replace('"svc/a"', '"M"'));
    expect(added('responses', body('"max_output_tokens":null'), 'max_output_tokens')).toBe(
      '{"model":"M","max_output_tokens":9}',
    );
    expect(added('responses', body('"stream":true'), 'max_output_tokens')).toBe(
      '{"model":"M","stream":true,"max_output_tokens":9}',
    );
    expect(added('messages', body('"stream":true'), 'max_tokens')).toBe(
      '{"model":"M","stream":true,"max_tokens":9}',
    );
  });
});

describe('members that determine the kind of a call', () => {
  const RESPONSES = [
    ...['max_output_tokens', 'background', 'store', 'previous_response_id', 'max_tool_calls'],
  ];
  const ALL = ['stream', 'stream_options', 'max_tokens', 'max_completion_tokens', 'n', 'best_of'];

  test.each([
    ...RESPONSES.map((name) => ['responses', name]),
    ...ALL.flatMap((name) => [
      ['responses', name],
      ['messages', name],
    ]),
  ] as [ClientWire, string][])('%s: %s twice, or in other letters, is refused', (wire, name) => {
    expect(refusalOf(wire, `"${name}":null,"${name}":null`)).toBe(`${name}: Duplicate field '${name}'.`);
    const upper = name.charAt(0).toUpperCase() + name.slice(1);
    expect(refusalOf(wire, `"${upper}":null`)).toBe(`${name}: Write the field '${name}' in lower case.`);
    expect(refusalOf(wire, `"${name}":null`)).toBe('read');
  });

  test('background is refused where it is true, and must be a boolean', () => {
    expect(refusedAt('responses', '"background":true')).toBe('background');
    expect(refusedAt('responses', '"background":1')).toBe('background');
    expect(refusalOf('responses', '"background":false')).toBe('read');
    expect(refusalOf('completions', '"background":true')).toBe('read');
  });

  test('store and the id of the continued response are read', () => {
    expect(fieldsOf('responses', body('"store":true')).store).toBe(true);
    expect(fieldsOf('responses', body('"store":false')).store).toBe(false);
    expect(fieldsOf('responses', body('"store":null')).store).toBeNull();
    const continued = fieldsOf('responses', body('"previous_response_id":"resp_1"'));
    expect(continued.earlier).toEqual({ responseId: 'resp_1', itemIds: [] });
    expect(continued.refersOutside).toBe(true);
    expect(fieldsOf('responses', body('"previous_response_id":null')).earlier).toBeNull();
    expect(refusedAt('responses', '"previous_response_id":7')).toBe('previous_response_id');
    expect(fieldsOf('messages', body('"previous_response_id":"resp_1"')).earlier).toBeNull();
  });
});

// Every reference that a body may hide, on each wire: test/attacks/provider-references.test.ts.
describe('data stored at the provider', () => {
  test.each([
    ['a conversation', 'responses', '"conversation":"conv_1"', 'conversation'],
    ['a file in the system text', 'messages', '"system":[{"source":{"file_id":"f"}}]', 'system'],
    ['a stored conversation', 'messages', '"thread":{"type":"continue","previous_message_id":"m"}', 'thread'],
    ['a model of the provider', 'messages', '"fallbacks":[{"model":"claude-opus-5"}]', 'fallbacks'],
  ] as const)('%s is refused', (_, wire, members, param) => {
    expect(refusedAt(wire, members)).toBe(param);
  });

  test.each([
    ['nothing', 'responses', '"conversation":null,"prompt":null,"tools":null'],
    ['nothing', 'messages', '"mcp_servers":[ ],"container":null,"tools":[],"thread":null,"fallbacks":[]'],
    ['no file', 'responses', '"input":[{"role":"user","content":[{"type":"input_image","file_id":null}]}]'],
    [
      'a parameter of that name',
      'responses',
      '"tools":[{"type":"function","parameters":{"properties":{"file_id":{"type":"web_search"}}}}]',
    ],
    [
      'arguments of that name',
      'messages',
      '"messages":[{"content":[{"type":"tool_use","input":{"file_id":"f","type":"x"}}]}]',
    ],
    ['a text in the place of items', 'responses', '"input":"file_id"'],
    ['texts in the place of blocks', 'messages', '"messages":[{"content":"file_id"}],"system":"x"'],
  ] as const)('%s is fine', (_, wire, members) => {
    expect(refusalOf(wire, members)).toBe('read');
  });

  test('content is checked up to the allowed depth, and no deeper', () => {
    const nested = (levels: number) =>
      `${'{"content":['.repeat(levels)}{"file_id":"f"}${']}'.repeat(levels)}`;
    for (const levels of [1, 4, 7]) {
      expect(refusalOf('messages', `"messages":[${nested(levels)}]`)).toContain('stored at the provider');
    }
    for (const levels of [9, 200_000]) {
      expect(refusalOf('messages', `"messages":[${nested(levels)}]`)).toContain('nested deeper');
    }
    const lists = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
    expect(refusalOf('messages', `"messages":${lists}`)).toBe('read');
    expect(refusalOf('responses', `"input":${lists},"tools":${lists}`)).toBe('read');
  });

  test('a body with more names than any conversation has is refused, whatever they are in', () => {
    const many = '{"k":1},'.repeat(499_000);
    expect(refusalOf('completions', `"x":[${many}{}]`)).toBe('read');
    const tooMany = `${many}${'{"k":1},'.repeat(1_001)}{}`;
    expect(refusalOf('completions', `"messages":[${tooMany}]`)).toContain('more than 500000 names');
    expect(refusalOf('completions', `"tools":[${tooMany}]`)).toContain('more than 500000 names');
    expect(refusalOf('responses', `"input":[${tooMany}]`)).toContain('more than 500000 names');
    expect(refusalOf('messages', `"messages":[${tooMany}]`)).toContain('more than 500000 names');
  });
});

describe('items of earlier responses', () => {
  const earlier = (items: string) => fieldsOf('responses', body(`"input":[${items}]`)).earlier;

  test('are read by their ids, also where the type is left out or repeated', () => {
    expect(earlier('{"type":"item_reference","id":"msg_1"},{"id":"rs_2"},{"type":null,"id":"fc_3"}')).toEqual(
      {
        responseId: null,
        itemIds: ['msg_1', 'rs_2', 'fc_3'],
      },
    );
    expect(earlier('{"type":"item_reference","id":"a","type":"message"}')?.itemIds).toEqual(['a']);
    expect(earlier('{"Type":"item_reference","ID":"a"}')?.itemIds).toEqual(['a']);
  });

  test('do not include items with an id of their own', () => {
    expect(earlier('{"type":"message","id":"msg_1","role":"assistant","content":[]}')).toBeNull();
    expect(earlier('{"role":"user","id":"msg_1","content":"x"}')).toBeNull();
    expect(earlier('{"type":"function_call","id":"fc_1","call_id":"c","arguments":"{}"}')).toBeNull();
  });

  test('are bounded', () => {
    const items = (count: number) => Array.from({ length: count }, (_, at) => `{"id":"${at}"}`).join();
    expect(earlier(items(1_000))?.itemIds).toHaveLength(1_000);
    expect(refusedAt('responses', `"input":[${items(1_001)}]`)).toBe('input');
    expect(earlier(`{"id":"${'x'.repeat(1_000)}"}`)?.itemIds).toEqual(['']);
  });
});

describe('tools', () => {
  const tools = (wire: ClientWire, ...types: readonly string[]) =>
    refusalOf(wire, `"tools":[${types.map((type) => `{"type":${JSON.stringify(type)}}`).join()}]`);

  test('that a client may run pass', () => {
    expect(tools('responses', 'function', 'custom', 'local_shell', 'apply_patch')).toBe('read');
    const own = ['custom', 'bash_20250124', 'text_editor_20250728', 'memory_20250818', 'computer_20250124'];
    expect(tools('messages', ...own)).toBe('read');
    expect(refusalOf('messages', '"tools":[{"name":"f"},{"type":null}]')).toBe('read');
  });

  test.each([
    ['responses', 'web_search'],
    ['responses', 'web_search_2025_08_26'],
    ['responses', 'shell'],
    ['responses', 'my secret <b>'],
    ['responses', ''],
    ['messages', 'web_search_20250305'],
    ['messages', 'x'.repeat(999)],
  ] as const)('of %s that run at the provider are refused: %p', (wire, type) => {
    const refused = tools(wire, 'custom', type);
    expect(refused).toStartWith('tools[1].type: The tool');
    // A type is repeated only where it looks like one.
    expect(refused).not.toContain('secret');
    if (type === 'web_search') expect(refused).toContain("'web_search'");
  });

  test('are refused however the body hides them', () => {
    for (const hidden of [
      '"tools":[{"type":"function","type":"mcp"}]',
      '"tools":[{"type":"mcp","type":"function"}]',
      '"tools":[{"type":"m\\u0063p"}]',
      '"tools":[{"type":"namespace","tools":[{"type":"namespace","tools":[{"type":"mcp"}]}]}]',
      '"input":[{"type":"tool_search_output","tools":[{"type":"mcp"}]}]',
    ]) {
      expect(refusedAt('responses', hidden)).toBe('tools[0].type');
    }
    const named = '"tools":[{"type":"namespace","tools":[{"type":"function"},{"type":"custom"}]}]';
    expect(refusalOf('responses', named)).toBe('read');
  });

  test('a shell of Responses is the client’s own if its environment is local, and reads nothing of the provider', () => {
    const shell = (members: string) => refusalOf('responses', `"tools":[{"type":"shell"${members}}]`);
    const skill = '{"name":"pdf","description":"Reads PDFs.","path":"./pdf"}';
    expect(shell(',"environment":{"type":"local"}')).toBe('read');
    expect(shell(`,"environment":{"skills":[${skill}],"type":"local"}`)).toBe('read');
    for (const members of [
      '',
      ',"environment":null',
      ',"environment":{"type":"container_auto"}',
      ',"environment":{"type":"local","container_id":"cntr_1"}',
      ',"environment":{"type":"local","type":"container_auto"}',
      ',"environment":{"type":"local"},"environment":null',
      ',"environment":{"skills":[]},"environment":{"type":"local"}',
      ',"environment":{"type":"local"},"Environment":{"type":"container_auto"}',
      ',"environment":{"Type":"local"}',
      ',"environment":{"type":"local"},"type":"mcp"',
    ]) {
      expect(shell(members)).toStartWith('tools[0].type: The tool');
    }
    expect(shell(',"environment":{"type":"local","skills":[{"skill_id":"skill_1"}]}')).toStartWith(
      'tools[0]: ',
    );
    expect(shell('')).toContain('{"type": "local"}');
  });
});

test('content outside the body is detected, on each wire', () => {
  const outside = (wire: ClientWire, members: string) => fieldsOf(wire, body(members)).refersOutside;
  expect(outside('responses', '"input":[{"role":"user","content":[{"image_url":"https://x"}]}]')).toBe(true);
  expect(outside('responses', '"input":[{"role":"user","content":[{"file_url":"https://x"}]}]')).toBe(true);
  expect(outside('responses', '"input":[{"id":"msg_1"}]')).toBe(true);
  expect(outside('responses', '"input":[{"role":"user","content":"x"}]')).toBe(false);
  const image =
    '"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://x"}}]}]';
  expect(outside('messages', image)).toBe(true);
  expect(outside('messages', '"messages":[{"role":"user","content":"x"}],"max_tokens":7')).toBe(false);
});

test.each(['responses', 'messages'] as const)(
  '%s: every body cut short is refused with its place',
  (wire) => {
    const text = body(
      '"input":[{"type":"message","content":[{"a":"\\u00e4"}]}],"messages":[{"content":[{"source":{"b":1}}]}],' +
        '"tools":[{"type":"function","parameters":{}}],"system":[{"c":null}],"conversation":null,"mcp_servers":[]',
    );
    expect(readModelBody(encode(text), wire).outcome).toBe('read');
    for (let length = 0; length < text.length; length += 1) {
      const read = readModelBody(encode(text.slice(0, length)), wire);
      expect(read).toMatchObject({ outcome: 'invalid', param: null });
    }
  },
);

describe('audio', () => {
  const user = (part: string) => `[{"role":"user","content":[${part}]}]`;
  const membersOf = {
    completions: (part: string) => `"messages":${user(part)}`,
    responses: (part: string) => `"input":${user(part)}`,
    messages: (part: string) => `"messages":${user(part)}`,
  } as const;
  const wires = Object.keys(membersOf) as (keyof typeof membersOf)[];
  const tiersOf = (part: string) => wires.map((wire) => fieldsOf(wire, body(membersOf[wire](part))).tiers);

  test.each([
    '{"type":"image_url","Image_URL":"data:audio/mp3;base64,AA"}',
    '{"type":"video_url","video_url":{"detail":"low","URL":"DATA:Audio\\/mp3,AA"}}',
    '{"type":"file","file":{"filename":"a","file_data":"\\u0064ata:\\u0061udio\\u002Fwav,AA"}}',
    '{"type":"file","file":{"file_data":"UklGRg==","format":"audio/wav"}}',
    '{"type":"input_file","file_url":"d\\u0061ta:audio/wav,AA"}',
    '{"type":"document","source":{"type":"base64","media_type":"audio/x-wav","data":"AA"}}',
  ])('is found by its media type: %s', (part) => {
    expect(tiersOf(part)).toEqual(wires.map(() => ({ modalities: 'audio' })));
  });

  const audio = '{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}}';

  test.each([
    ['completions', `"messages":${user(audio)}`],
    ['completions', `"messages":${user('{"type":"audio_url","audio_url":{"url":"https://x.example/a"}}')}`],
    ['completions', '"messages":[{"role":"assistant","audio":{"id":"audio_1"}}]'],
    ['completions', '"Modalities":"AUDIO"'],
    ['completions', '"audio":{"voice":"alloy","format":"wav"}'],
    ['responses', `"input":${user(audio)}`],
    ['responses', '"modalities":["audio"]'],
    ['messages', '"audio":{"voice":"alloy"}'],
  ] as const)('is detected: %s, %s', (wire, members) => {
    expect(fieldsOf(wire, body(members)).tiers).toEqual({ modalities: 'audio' });
  });

  test.each([
    '"modalities":["text"],"audio":null',
    '"messages":[{"role":"assistant","content":"\\"input_audio\\": {}","audio":null}]',
    '"tools":[{"type":"function","function":{"name":"f","parameters":{"properties":{"audio":{}}}}}]',
  ])('is not what only names it: %s', (members) => {
    expect(fieldsOf('completions', body(members)).tiers).toBeNull();
  });

  test.each([
    '{"type":"image_url","image_url":{"url":"data:image/png;base64,audio/AA"}}',
    '{"type":"image_url","image_url":{"url":"https://audio.example/audio/a.png","detail":"auto"}}',
    '{"type":"video_url","video_url":{"url":"data:video/mp4,AA"}},{"type":"text","text":"data:audio/mp3"}',
    '{"type":"file","file":{"filename":"audio/a.pdf","file_data":"data:application/pdf,AA"}}',
    '{"type":"input_image","image_url":"data:"},{"type":"text","text":"audio/mp3 is a media type"}',
    '{"type":"document","source":{"type":"base64","media_type":"audio","data":"audio/"}}',
  ])('is no other media type, and no other member: %s', (part) => {
    expect(tiersOf(part)).toEqual(wires.map(() => null));
  });
});
