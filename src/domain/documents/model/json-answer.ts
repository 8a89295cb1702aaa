export type JsonAnswer =
  | { readonly outcome: 'object'; readonly value: Readonly<Record<string, unknown>> }
  | { readonly outcome: 'none'; readonly problem: string };

/** An answer is some thousands of characters; a longer one is a model that does not stop. */
const LONGEST_ANSWER = 400_000;

/** The JSON object of an answer: alone, in a fence, or with prose around it. */
export function readJsonAnswer(answer: string): JsonAnswer {
  if (answer.length > LONGEST_ANSWER) return { outcome: 'none', problem: 'the answer is too long' };
  const fenced = /```(?:json)?\s*([\s\S]*?)```/.exec(answer)?.[1];
  for (const candidate of [answer, fenced, outermost(answer)]) {
    if (candidate === undefined || candidate === null) continue;
    const value = parsed(candidate);
    if (isObject(value)) return { outcome: 'object', value };
    if (value !== undefined) return { outcome: 'none', problem: 'the answer is JSON, but not an object' };
  }
  const problem = answer.includes('{')
    ? 'the answer is broken JSON: an unclosed bracket or quote, or text after the object'
    : 'the answer has no JSON object';
  return { outcome: 'none', problem };
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text.trim());
  } catch {
    return undefined;
  }
}

function outermost(text: string): string | null {
  const [from, to] = [text.indexOf('{'), text.lastIndexOf('}')];
  return from === -1 || to <= from ? null : text.slice(from, to + 1);
}
