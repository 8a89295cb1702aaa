/**
 * Generated bodies, half of them valid JSON, half of them damaged. What the scanner says is compared with `JSON.parse`,
 * and what it makes of a body with a second way that works on the text by tokens.
 */
import { readModelBody } from '../../src/gateway/json/request-body.ts';
import { rewriteModelBody } from '../../src/gateway/json/rewrite-body.ts';
import { createSeededRandom } from '../doubles/seeded-random.ts';
import { generateBody, mutated } from '../gateway/generated-body.ts';

const providerModel = 'provider/"model" é';
const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

interface Member {
  readonly name: string;
  readonly nameStart: number;
  readonly start: number;
  readonly end: number;
  /** From its name to behind its comma; of the last one from the comma before it to its end. */
  readonly whole: { readonly start: number; readonly end: number };
}

/** The members of an object in a text that is known to be JSON, by its tokens; `open` is the place of its brace. */
function membersIn(text: string, open: number): { members: Member[]; close: number } {
  const token = /"(?:[^"\\]|\\.)*"|[{}[\]:,]|[^\s{}[\]:,"]+/gs;
  token.lastIndex = open + 1;
  const members: Member[] = [];
  let depth = 0;
  let name: string | null = null;
  let start = -1;
  let nameStart = -1;
  let comma = -1;
  for (let end = open + 1; ; end = token.lastIndex) {
    const found = token.exec(text);
    if (found === null) throw new Error('the text ends inside of the object');
    const isEnd = depth === 0 && (found[0] === ',' || found[0] === '}');
    if (isEnd && name !== null) {
      const whole =
        found[0] === ','
          ? { start: nameStart, end: found.index + 1 }
          : { start: comma === -1 ? nameStart : comma, end: start + text.slice(start, end).trimEnd().length };
      members.push({ name, nameStart, start, end, whole });
    }
    if (isEnd && found[0] === '}') return { members, close: found.index };
    if (isEnd) {
      name = null;
      comma = found.index;
    } else if (name === null) {
      nameStart = found.index;
      name = JSON.parse(found[0]) as string;
      token.exec(text);
      start = -1;
    } else {
      if (start === -1) start = found.index;
      if (found[0] === '{' || found[0] === '[') depth++;
      if (found[0] === '}' || found[0] === ']') depth--;
    }
  }
}

type Parsed = { value: unknown; text: string } | 'not-utf-8' | 'not-json';

function parse(bytes: Uint8Array): Parsed {
  let text: string;
  try {
    text = strictDecoder.decode(bytes);
  } catch {
    return 'not-utf-8';
  }
  try {
    return { value: JSON.parse(text), text };
  } catch {
    return 'not-json';
  }
}

const isObject = (value: unknown): value is Record<string, unknown> => {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
};
const isOneOf = (value: unknown, ...allowed: unknown[]) => allowed.includes(value);
const own = (value: Record<string, unknown>, name: string) => {
  return Object.hasOwn(value, name) ? value[name] : undefined;
};

const LISTED = [
  ...['model', 'models', 'stream', 'stream_options', 'include_usage'],
  ...['max_tokens', 'max_completion_tokens', 'n', 'best_of'],
];

/** Repeated, or in other letters. */
function namesAtFault(members: readonly Member[]): string[] {
  return LISTED.filter((name) => {
    const isVariant = (other: string) => other !== name && other.toLowerCase().replaceAll('ſ', 's') === name;
    const own = members.filter((member) => member.name === name);
    return own.length > 1 || members.some((member) => isVariant(member.name));
  });
}

/** The fields at fault, by the rules of G-13; empty for a body that must be read. */
function faultsOf(value: Record<string, unknown>, text: string, members: readonly Member[]): Set<string> {
  const faults = new Set<string>();
  for (const name of namesAtFault(members)) faults.add(name);
  const { model, list, isListAtFault } = modelsOf(value);
  if (isListAtFault) faults.add('models');
  if (typeof model !== 'string' && (Object.hasOwn(value, 'model') || list.length === 0)) faults.add('model');
  if (!isOneOf(own(value, 'stream'), undefined, true, false, null)) faults.add('stream');
  const options = own(value, 'stream_options');
  if (!isOneOf(options, undefined, null) && !isObject(options)) faults.add('stream_options');
  const place = members.find((member) => member.name === 'stream_options');
  if (place !== undefined && text[place.start] === '{') {
    if (namesAtFault(membersIn(text, place.start).members).length > 0) faults.add('stream_options');
  }
  return faults;
}

const MOST_MODELS = 8;

function modelsOf(value: Record<string, unknown>) {
  const list = own(value, 'models');
  const names = Array.isArray(list) ? list.filter((name) => typeof name === 'string') : [];
  const isListAtFault =
    list != null && (!Array.isArray(list) || names.length < list.length || list.length > MOST_MODELS);
  return { model: own(value, 'model'), list: names, isListAtFault };
}

/** Without the list of models, whose first is the model of a body that names none. */
function withoutModels(
  text: string,
  value: Record<string, unknown>,
): { text: string; value: Record<string, unknown> } {
  const { members } = membersIn(text, text.indexOf('{'));
  const place = members.find(({ name }) => name === 'models');
  if (place === undefined) return { text, value };
  const { models: _models, ...rest } = value;
  if (Object.hasOwn(value, 'model')) {
    return { text: text.slice(0, place.whole.start) + text.slice(place.whole.end), value: rest };
  }
  const first = /"(?:[^"\\]|\\.)*"/s.exec(text.slice(place.start))?.[0];
  const end = place.start + text.slice(place.start, place.end).trimEnd().length;
  return {
    text: `${text.slice(0, place.nameStart)}"model":${first}${text.slice(end)}`,
    value: { ...rest, model: modelsOf(value).list[0] },
  };
}

/** The text with its two changes, each found by tokens. */
function expectedText(text: string, value: Record<string, unknown>): string {
  const { members, close } = membersIn(text, text.indexOf('{'));
  const changes: { start: number; end: number; text: string }[] = [];
  const replace = ({ start, end }: { start: number; end: number }, by: string) => {
    const trimmedEnd = start + text.slice(start, end).trimEnd().length;
    changes.push({ start, end: end === start ? end : trimmedEnd, text: by });
  };
  for (const member of members) if (member.name === 'model') replace(member, JSON.stringify(providerModel));
  const options = members.find((member) => member.name === 'stream_options');
  if (own(value, 'stream') === true) {
    if (options === undefined) {
      replace({ start: close, end: close }, ',"stream_options":{"include_usage":true}');
    } else if (text[options.start] === 'n') {
      replace(options, '{"include_usage":true}');
    } else {
      const inside = membersIn(text, options.start);
      const usage = inside.members.find((member) => member.name === 'include_usage');
      const comma = inside.members.length === 0 ? '' : ',';
      if (usage === undefined) {
        replace({ start: inside.close, end: inside.close }, `${comma}"include_usage":true`);
      } else replace(usage, 'true');
    }
  }
  let result = text;
  for (const change of changes.sort((one, other) => other.start - one.start)) {
    result = result.slice(0, change.start) + change.text + result.slice(change.end);
  }
  return result;
}

function expectedValue(value: Record<string, unknown>): Record<string, unknown> {
  const result = { ...value, model: providerModel };
  if (own(value, 'stream') !== true) return result;
  const options = own(value, 'stream_options');
  return { ...result, stream_options: { ...(isObject(options) ? options : {}), include_usage: true } };
}

const wholeNumber = (value: unknown, least: number, round: (value: number) => number) => {
  const number = typeof value === 'string' ? Number(value.replaceAll('_', '')) : value;
  if (typeof number !== 'number' || !(number >= least)) return null;
  return Math.min(round(number), Number.MAX_SAFE_INTEGER) + 0;
};

type Seen = 'read' | 'read-stream' | 'not-utf-8' | 'not-json' | 'not-an-object' | 'field-at-fault';

/** Throws where the scanner and the two other ways disagree. */
function compare(bytes: Uint8Array): Seen {
  const read = readModelBody(bytes);
  const parsed = parse(bytes);
  if (parsed === 'not-utf-8' || parsed === 'not-json') {
    assert(read.outcome === 'invalid' && read.param === null, 'it is not JSON');
    assert(
      !/must be a JSON object$/.test(read.message) || read.message.includes('empty'),
      'JSON comes first',
    );
    if (parsed === 'not-json') assert(!read.message.includes('UTF-8'), 'it is UTF-8');
    return parsed;
  }
  if (!isObject(parsed.value)) {
    assert(
      read.outcome === 'invalid' && read.message === 'the body must be a JSON object',
      'it is no object',
    );
    return 'not-an-object';
  }
  const { value, text } = parsed;
  const faults = faultsOf(value, text, membersIn(text, text.indexOf('{')).members);
  if (read.outcome === 'invalid') {
    assert(faults.has(read.param ?? 'none'), `nothing is wrong: ${read.message}`);
    return 'field-at-fault';
  }
  assert(faults.size === 0, `at fault: ${[...faults].join()}`);
  const { fields } = read;
  const sent = withoutModels(text, value);
  assert(
    fields.model === sent.value.model && fields.stream === (own(value, 'stream') === true),
    'model and stream',
  );
  const maxima = ['max_tokens', 'max_completion_tokens'].map(
    (name) => wholeNumber(own(value, name), 0, Math.ceil) ?? 0,
  );
  assert((fields.maxTokens ?? 0) === Math.max(...maxima), 'max tokens');
  const choices = ['n', 'best_of'].map((name) => wholeNumber(own(value, name), 1, Math.floor) ?? 1);
  assert(fields.choices === Math.max(...choices), 'choices');
  const rewritten = strictDecoder.decode(
    rewriteModelBody(read.bytes ?? bytes, fields, { model: providerModel }),
  );
  assert(rewritten === expectedText(sent.text, sent.value), 'the bytes');
  assert(Bun.deepEquals(JSON.parse(rewritten), expectedValue(sent.value), true), 'the meaning');
  const others = [...new Set(modelsOf(value).list)].filter((name) => name !== fields.model);
  assert(Bun.deepEquals(fields.models ?? [], others, true), 'the other models');
  return fields.stream ? 'read-stream' : 'read';
}

function assert(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what);
}

export async function fuzzRequestBodies(
  seed: number,
  count: number,
): Promise<{ readonly seen: Readonly<Record<Seen, number>> }> {
  const random = createSeededRandom(seed);
  const seen = {
    read: 0,
    'read-stream': 0,
    'not-utf-8': 0,
    'not-json': 0,
    'not-an-object': 0,
    'field-at-fault': 0,
  };
  for (let nth = 0; nth < count; nth += 2) {
    const valid = new TextEncoder().encode(generateBody(random));
    for (const bytes of [valid, mutated(random, valid)]) {
      try {
        seen[compare(bytes)] += 1;
      } catch (failure) {
        throw new Error(
          `body ${nth} of seed ${seed}: ${failure}\n${JSON.stringify(new TextDecoder().decode(bytes))}`,
        );
      }
    }
  }
  return { seen };
}
