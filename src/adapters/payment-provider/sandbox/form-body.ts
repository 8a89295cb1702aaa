import { invalid } from './refusal.ts';

/** A form with nested names (`a[b][0]=c`) as a tree; a list is a group whose names are numbers. */
export type FormNode = string | FormGroup;
export type FormGroup = Map<string, FormNode>;

const MAX_PAIRS = 1_000;
const MAX_DEPTH = 6;
const NAME = /^[^[\]]+((?:\[[^[\]]*\])*)$/;

export function readForm(text: string): FormGroup {
  const tree: FormGroup = new Map();
  const pairs = [...new URLSearchParams(text)];
  if (pairs.length > MAX_PAIRS) throw invalid(`A request has at most ${MAX_PAIRS} parameters.`);
  for (const [name, value] of pairs) {
    if (name === '') continue;
    // The two kinds of text that the database cannot keep.
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

/** The same request always gives the same text, in whatever order its parameters come. */
export function canonical(node: FormNode): string {
  if (typeof node === 'string') return JSON.stringify(node);
  const entries = [...node].sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${entries.map(([name, value]) => `${JSON.stringify(name)}:${canonical(value)}`).join(',')}}`;
}
