import { describe, expect, test } from 'bun:test';
import { errorEnvelope } from '../../http/error-envelope.ts';
import {
  brokenStreamEvent,
  createSseEventCutter,
  placeInEvent,
  readSseEventData,
  type SseEventData,
} from './server-sent-events.ts';

function read(text: string): { source: Uint8Array; data: SseEventData } {
  const all: { source: Uint8Array; data: SseEventData }[] = [];
  createSseEventCutter({ maxEventBytes: 1_000 }).push(new TextEncoder().encode(text), (event) => {
    all.push({ source: event.source, data: readSseEventData(event) });
    return true;
  });
  const [only] = all;
  if (only === undefined || all.length > 1) throw new Error(`${all.length} events in ${text}`);
  return only;
}

/** The data as text, or the kind of event that has none. */
function summary(text: string): string {
  const { data } = read(text);
  if (data.kind !== 'data') return data.kind;
  return `data ${new TextDecoder().decode(data.bytes.subarray(data.start, data.end))}`;
}

describe('what an event says', () => {
  test.each([
    ['data: {"a":1}\n\n', 'data {"a":1}'],
    ['data:{"a":1}\n\n', 'data {"a":1}'],
    ['data:  two spaces\n\n', 'data  two spaces'],
    ['data: a:b\r\n\r\n', 'data a:b'],
    ['data:\n\n', 'data '],
    ['data: \n\n', 'data '],
    ['data\n\n', 'data '],
    ['database: a\n\n', 'none'],
    [' data: a\n\n', 'none'],
    [': data: a\n\n', 'none'],
    ['\n', 'none'],
    ['id: 1\nretry: 5\n\n', 'none'],
    ['event: ping\n\n', 'none'],
    ['id: 1\nevent: message\ndata: a\n\n', 'data a'],
    ['data: a\nid: 1\n: b\n\n', 'data a'],
    ['data: a\ndata: b\n\n', 'data a\nb'],
    ['data: a\r\n: c\r\ndata\r\ndata:b\r\n\r\n', 'data a\n\nb'],
    ['data\ndata\n\n', 'data \n'],
    ['data: [DONE]\n\n', 'done'],
    ['data:[DONE]\r\r', 'done'],
    ['data: [DONE] \n\n', 'done'],
    ['event: done\ndata: [DONE]\n\n', 'done'],
    ['data: [DONE]\ndata:\n\n', 'done'],
    ['data: "[DONE]"\n\n', 'data "[DONE]"'],
    [': [DONE]\n\n', 'none'],
    ['event: error\ndata: {"message":"a"}\n\n', 'error'],
    ['event:error\r\n\r\n', 'error'],
    ['data: a\nevent: error\n\n', 'error'],
    ['event: errors\ndata: a\n\n', 'data a'],
    ['event: an error\ndata: a\n\n', 'data a'],
  ])('%j', (text, expected) => {
    expect(summary(text)).toBe(expected);
  });

  test('every byte of joined data is found again in the event', () => {
    const { source, data } = read(': a\r\ndata: {"ä":\r\nid: 7\r\ndata:\r\ndata:1\r\ndata: }\r\n\r\n');
    if (data.kind !== 'data') throw new Error(data.kind);
    expect(new TextDecoder().decode(data.bytes)).toBe('{"ä":\n\n1\n}');
    const LINE_FEED = 0x0a;
    for (const [at, byte] of data.bytes.entries()) {
      if (byte !== LINE_FEED) expect(source[placeInEvent(data.joinedFrom, at)]).toBe(byte);
    }
  });
});

test('G-38 a broken stream ends with one data event that holds the envelope', () => {
  const envelope = errorEnvelope('api_error', 'The stream\nbroke.', 'LLM_GATEWAY_UNAVAILABLE');
  const text = new TextDecoder().decode(brokenStreamEvent(envelope));
  expect(text).toEndWith('\n\n');
  expect(text.trimEnd().split('\n')).toHaveLength(1);
  const said = summary(text);
  expect(JSON.parse(said.slice('data '.length))).toEqual(envelope);
  expect(text).not.toContain('[DONE]');
});
