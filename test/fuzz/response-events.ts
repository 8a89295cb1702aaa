import { isObject, type JsonObject } from '../../src/ports/json-object.ts';

interface CheckedEvents {
  /** Of the last event that has one. */
  readonly response: JsonObject;
  readonly isEnded: boolean;
}

/** What is open while the events of a stream are read. */
interface OpenItem {
  readonly id: unknown;
  done: JsonObject | null;
  /** The part that is open, with what its deltas have added up to. */
  part: { readonly key: string; text: string } | null;
  written: string;
}

/**
 * Reads a stream of the Responses API as its clients do, and throws where an event breaks a rule: numbers without a gap,
 * `created` and `in_progress` first, items and their parts begun before their deltas and done once, `done` with what
 * the deltas said, and a last response with the items that were done.
 */
export function checkResponseEvents(text: string): CheckedEvents {
  const items: OpenItem[] = [];
  let response: JsonObject = {};
  let isEnded = false;
  for (const [nth, event] of readEvents(text).entries()) {
    const { type } = event;
    const rule = (isKept: boolean, what: string) => {
      if (!isKept) throw new Error(`event ${nth} (${type}): ${what}\n${text}`);
    };
    rule(event.sequence_number === nth, 'its number is wrong');
    rule(!isEnded, 'after the end');
    rule((nth === 0) === (type === 'response.created'), 'created is the first');
    rule((nth === 1) === (type === 'response.in_progress'), 'in_progress is the second');
    if (isObject(event.response)) {
      rule(nth === 0 || event.response.id === response.id, 'another response');
      response = event.response;
      isEnded = type === 'response.completed' || type === 'response.incomplete';
      if (isEnded) {
        const done = items.map((item) => item.done);
        rule(Bun.deepEquals(response.output, done), 'the output is not that of the items');
        rule(type === `response.${response.status}`, 'the status is another');
      }
    } else {
      checkItemEvent(event, items, rule);
    }
  }
  return { response, isEnded };
}

function checkItemEvent(
  event: JsonObject,
  items: OpenItem[],
  rule: (isKept: boolean, what: string) => void,
): void {
  const index = Number(event.output_index);
  const type = String(event.type).slice('response.'.length);
  if (type === 'output_item.added') {
    rule(index === items.length, 'its place is not the next');
    items.push({ id: isObject(event.item) ? event.item.id : null, done: null, part: null, written: '' });
    return;
  }
  const item = items[index];
  rule(item !== undefined, 'of no item');
  if (item === undefined) return;
  rule(item.done === null, 'after its item was done');
  if (type === 'output_item.done') {
    rule(item.part === null, 'its part is open');
    rule(isObject(event.item) && event.item.id === item.id, 'another id');
    item.done = event.item as JsonObject;
    return;
  }
  rule(event.item_id === item.id, 'another id');
  const key = `${event.content_index ?? `s${event.summary_index}`}`;
  if (type.endsWith('part.added')) {
    rule(item.part === null, 'the part before is open');
    item.part = { key, text: '' };
  } else if (type.endsWith('part.done')) {
    const { text, refusal } = isObject(event.part) ? event.part : ({} as JsonObject);
    rule(item.part?.key === key && item.part.text === (text ?? refusal), 'not the part that is open');
    item.part = null;
  } else if (type.startsWith('function_call_arguments') || type.startsWith('custom_tool_call_input')) {
    if (type.endsWith('delta')) item.written += event.delta;
    else rule(item.written === (event.arguments ?? event.input), 'not what its deltas said');
  } else if (type.endsWith('.delta')) {
    rule(item.part?.key === key, 'no part is open');
    if (item.part !== null) item.part.text += event.delta;
  } else if (type.endsWith('.done')) {
    rule(item.part?.text === (event.text ?? event.refusal), 'not what its deltas said');
  } else {
    rule(type === 'output_text.annotation.added', 'unknown');
  }
}

function readEvents(text: string): JsonObject[] {
  if (text !== '' && !text.endsWith('\n\n')) throw new Error('the last event is not whole');
  return text
    .split('\n\n')
    .slice(0, -1)
    .map((event) => {
      const [name, data, ...more] = event.split('\n');
      const read = JSON.parse((data ?? '').replace(/^data: /, ''));
      if (name !== `event: ${read.type}` || more.length > 0) throw new Error(`not an event: ${event}`);
      return read;
    });
}
