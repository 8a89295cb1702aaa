import type Stripe from 'stripe';
import type { FormGroup } from './form-body.ts';
import { invalid } from './refusal.ts';

/** Reads the parameters of a request, refusing what is not as it must be in the provider's words. */
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
  /** As the provider writes it: `line_items[0][price]`. */
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
