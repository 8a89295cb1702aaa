import type Stripe from 'stripe';
import { invalid, refusal } from './api-errors.ts';

/** Reads the parameters of a request and refuses invalid ones in the provider's words. */
export interface Params {
  text(name: string, longest?: number): string | undefined;
  needed(name: string, longest?: number): string;
  whole(name: string, bounds?: { min?: number; max?: number }): number | undefined;
  flag(name: string): boolean | undefined;
  choice<T extends string>(name: string, choices: readonly T[]): T | undefined;
  texts(name: string): string[];
  group(name: string): Params | undefined;
  groups(name: string): Params[];
  metadata(): Stripe.Metadata | undefined;
  has(name: string): boolean;
  /** The full name in the provider's notation: `line_items[0][price]`. */
  named(name: string): string;
}

const LONGEST_TEXT = 5_000;
const METADATA = { keys: 50, key: 40, value: 500 };

export function createParams(tree: FormGroup, prefix = ''): Params {
  const named = (name: string) => (prefix === '' ? name : `${prefix}[${name}]`);

  function text(name: string, longest = LONGEST_TEXT): string | undefined {
    const value = tree.get(name);
    if (value === undefined || value === '') return undefined;
    if (typeof value !== 'string') throw invalid('Invalid string: it must not be an object.', named(name));
    if (value.length > longest) {
      const message = `Invalid string: it must be at most ${longest} characters, not ${value.length}.`;
      throw invalid(message, named(name), 'parameter_invalid_string');
    }
    return value;
  }

  function groupAt(name: string): FormGroup | undefined {
    const value = tree.get(name);
    if (value === undefined || value === '') return undefined;
    if (typeof value === 'string') throw invalid('Invalid object', named(name));
    return value;
  }

  function choice<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const value = text(name);
    if (value === undefined) return undefined;
    const chosen = choices.find((one) => one === value);
    if (chosen === undefined) {
      throw invalid(
        `Invalid ${name}: must be one of ${choices.join(', ')}`,
        named(name),
        'parameter_invalid_enum',
      );
    }
    return chosen;
  }

  function metadata(): Stripe.Metadata | undefined {
    const group = groupAt('metadata');
    if (group === undefined) return undefined;
    if (group.size > METADATA.keys) throw invalid(`You can set at most ${METADATA.keys} keys.`, 'metadata');
    const pairs = [...group].map(([key, value]): [string, string] => {
      if (typeof value !== 'string') throw invalid('Metadata values must be strings.', `metadata[${key}]`);
      if (key.length > METADATA.key || value.length > METADATA.value) {
        const message = `Metadata keys have up to ${METADATA.key} characters and values up to ${METADATA.value}.`;
        throw invalid(message, `metadata[${key.slice(0, METADATA.key)}]`);
      }
      return [key, value];
    });
    return Object.fromEntries(pairs);
  }

  return {
    text,
    choice,
    metadata,
    named,
    has: (name) => tree.has(name),
    needed(name, longest) {
      const value = text(name, longest);
      if (value !== undefined) return value;
      throw invalid(`Missing required param: ${named(name)}.`, named(name), 'parameter_missing');
    },
    whole(name, { min = 0, max = 99_999_999 } = {}) {
      const value = text(name);
      if (value === undefined) return undefined;
      if (!/^-?\d{1,15}$/.test(value)) {
        throw invalid(`Invalid integer: ${value.slice(0, 100)}`, named(name), 'parameter_invalid_integer');
      }
      const number = Number(value);
      if (number < min) throw invalid(`This value must be greater than or equal to ${min}.`, named(name));
      if (number > max) throw invalid(`This value must be less than or equal to ${max}.`, named(name));
      return number;
    },
    flag(name) {
      const value = choice(name, ['true', 'false'] as const);
      return value === undefined ? undefined : value === 'true';
    },
    texts: (name) => [...(groupAt(name)?.values() ?? [])].filter((value) => typeof value === 'string'),
    group(name) {
      const group = groupAt(name);
      return group === undefined ? undefined : createParams(group, named(name));
    },
    groups: (name) =>
      [...(groupAt(name) ?? [])].map(([at, value]) => {
        if (typeof value === 'string') throw invalid('Invalid object', `${named(name)}[${at}]`);
        return createParams(value, `${named(name)}[${at}]`);
      }),
  };
}

/** The parameters of an API request: in the URL of a GET or DELETE, form-encoded in the body of all others. */
export async function readParameters(request: Request, url: URL): Promise<FormGroup> {
  if (request.method === 'GET' || request.method === 'DELETE') return readForm(url.search.slice(1));
  const text = await readText(request);
  const contentType = request.headers.get('content-type') ?? '';
  if (text !== '' && contentType.includes('json')) {
    const message = 'Invalid request: send parameters as application/x-www-form-urlencoded, not as JSON.';
    throw invalid(message);
  }
  return readForm(text);
}

/** The parameters of the sandbox's own routes, which may also be sent as JSON. */
export async function readOwnParameters(request: Request): Promise<FormGroup> {
  const text = await readText(request);
  if (!(request.headers.get('content-type') ?? '').includes('json')) return readForm(text);
  try {
    const parsed: unknown = JSON.parse(text);
    const pairs = Object.entries(parsed as Record<string, unknown>);
    if (pairs.some(([, value]) => typeof value === 'object')) throw new TypeError('a value is no scalar');
    return readForm(new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString());
  } catch {
    throw invalid('The body is not a JSON object.');
  }
}

/** The same text for the same parameters, in any order. */
export function canonical(node: FormNode): string {
  if (typeof node === 'string') return JSON.stringify(node);
  const entries = [...node].sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${canonical(value)}`).join(',')}}`;
}

/**
 * The sandbox has no passwords, so pages of other sites must not be able to send requests to it. Browsers send their
 * origin; a request without one is not from a browser.
 */
export function isFromElsewhere({ headers }: Request, url: URL): boolean {
  const site = headers.get('sec-fetch-site');
  if (site !== null) return site !== 'same-origin' && site !== 'none';
  const origin = headers.get('origin');
  return origin !== null && URL.parse(origin)?.host !== url.host;
}

/** A form with nested names (`a[b][0]=c`) as a tree; a list is a group whose names are numbers. */
type FormNode = string | FormGroup;
type FormGroup = Map<string, FormNode>;

const MAX_PAIRS = 1_000;
const MAX_DEPTH = 6;
const NAME = /^[^[\]]+((?:\[[^[\]]*\])*)$/;

function readForm(text: string): FormGroup {
  const tree: FormGroup = new Map();
  const pairs = [...new URLSearchParams(text)];
  if (pairs.length > MAX_PAIRS) throw invalid(`A request has at most ${MAX_PAIRS} parameters.`);
  for (const [name, value] of pairs) {
    if (name === '') continue;
    // Text that the database cannot store.
    if (value.includes('\0') || name.includes('\0') || !value.isWellFormed()) {
      throw invalid('Invalid string: it must be UTF-8 without the character 0.', name.slice(0, 100));
    }
    place(tree, stepsOf(name), value, name);
  }
  return tree;
}

function stepsOf(name: string): string[] {
  const match = NAME.exec(name);
  if (match === null) throw invalid(`Invalid parameter name: ${name.slice(0, 100)}`);
  const rest = match[1] ?? '';
  const inner = rest === '' ? [] : rest.slice(1, -1).split('][');
  if (inner.length >= MAX_DEPTH) throw invalid(`Parameters are nested too deeply: ${name.slice(0, 100)}`);
  return [name.slice(0, name.length - rest.length), ...inner];
}

function place(tree: FormGroup, steps: readonly string[], value: string, name: string): void {
  let group = tree;
  for (const [at, step] of steps.entries()) {
    const key = step === '' ? String(group.size) : step;
    if (at === steps.length - 1) {
      group.set(key, value);
      return;
    }
    const next = group.get(key);
    if (typeof next === 'string') throw invalid(`Invalid parameter: ${name.slice(0, 100)}`);
    if (next !== undefined) {
      group = next;
      continue;
    }
    const made: FormGroup = new Map();
    group.set(key, made);
    group = made;
  }
}

const LARGEST_BODY_BYTES = 1024 * 1024;

/** Reads the body as text, up to a limit that is enforced here whatever its headers say. */
async function readText(request: Request): Promise<string> {
  if ((request.headers.get('content-encoding') ?? 'identity') !== 'identity') {
    const message = 'Compressed request bodies are not supported. Send the body uncompressed.';
    throw refusal(415, { type: 'invalid_request_error', message });
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > LARGEST_BODY_BYTES) {
      const message = `The request body is larger than ${LARGEST_BODY_BYTES} bytes.`;
      throw refusal(413, { type: 'invalid_request_error', message });
    }
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}
