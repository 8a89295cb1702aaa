import { type Accepted, accept, refuse } from './refusal.ts';

/** Texts, or texts that the client has turned into tokens already. */
export type TextInput =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tokens'; readonly tokens: readonly number[] };

/** OpenAI's, of embeddings. */
export const MAX_INPUTS = 2_048;

/** A string, several strings, one array of tokens, or several. By hand: it may hold millions of numbers. */
export function readTextInputs(value: unknown, param: string): Accepted<readonly TextInput[]> {
  if (typeof value === 'string') return accept([{ kind: 'text', text: value }]);
  if (!Array.isArray(value)) {
    return refuse(`'${param}' must be a string, an array of strings, or arrays of token numbers.`, param);
  }
  if (value.length === 0) return refuse(`'${param}' must not be an empty array.`, param);
  const tokens = tokensIn(value);
  if (tokens !== null) return accept([{ kind: 'tokens', tokens }]);
  if (value.length > MAX_INPUTS) return refuse(`'${param}' must have at most ${MAX_INPUTS} elements.`, param);
  const inputs: TextInput[] = [];
  for (const one of value as readonly unknown[]) {
    const ofOne = Array.isArray(one) ? tokensIn(one) : null;
    if (typeof one === 'string') inputs.push({ kind: 'text', text: one });
    else if (ofOne !== null) inputs.push({ kind: 'tokens', tokens: ofOne });
    else
      return refuse(`'${param}.${inputs.length}' is neither a string nor an array of token numbers.`, param);
  }
  if (new Set(inputs.map(({ kind }) => kind)).size > 1) {
    return refuse(`'${param}' must not mix strings with arrays of tokens.`, param);
  }
  return accept(inputs);
}

function tokensIn(value: readonly unknown[]): readonly number[] | null {
  const isToken = (one: unknown) => Number.isSafeInteger(one) && (one as number) >= 0;
  return value.length > 0 && value.every(isToken) ? (value as readonly number[]) : null;
}
