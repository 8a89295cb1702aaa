import type { SeededRandom } from '../doubles/seeded-random.ts';

export interface GeneratedBody {
  readonly body: Readonly<Record<string, unknown>>;
  /** Marks that must be in the messages of the chat, each once. */
  readonly said: readonly string[];
}

/** A body of the Responses API that can be said over chat completions, with a mark in every text. */
export function generateResponsesBody(random: SeededRandom): GeneratedBody {
  const said: string[] = [];
  const mark = () => {
    said.push(`mark${said.length + 1}`);
    return `${said.at(-1)} ${random.text(random.below(6), ' {}"\\\n\u00e9\u{1f600}a')}`;
  };
  const items: object[] = [{ role: 'user', content: mark() }];
  for (let left = 1 + random.below(6); left > 0; left -= 1) {
    items.push(...random.pick(ITEMS)(random, mark, items.length));
  }
  const body = {
    model: 'alias',
    input: random.below(8) === 0 ? mark() : shuffledResults(random, items),
    ...(random.below(2) === 0 ? { instructions: mark() } : {}),
    ...(random.below(2) === 0 ? { tools: random.pick(TOOLS), tool_choice: 'auto' } : {}),
    ...random.pick(OPTIONS),
    ...random.pick(OPTIONS),
  };
  const inBody = JSON.stringify(body);
  return { body, said: said.filter((one) => new RegExp(`${one}\\b`).test(inBody)) };
}

type Items = (random: SeededRandom, mark: () => string, nth: number) => object[];

const ITEMS: readonly Items[] = [
  (_, mark) => [{ role: 'user', content: mark() }],
  (random, mark) => [{ type: 'message', role: random.pick(['developer', 'system']), content: mark() }],
  (_, mark) => [
    {
      ...{ type: 'message', role: 'user' },
      content: [
        { type: 'input_text', text: mark() },
        { type: 'input_text', text: mark() },
        { type: 'input_image', image_url: `data:image/png;base64,${mark().slice(0, 6).trim()}` },
      ],
    },
  ],
  (_, mark) => [
    {
      ...{ type: 'message', role: 'assistant', id: 'msg_1', status: 'completed' },
      content: [
        { type: 'output_text', text: mark(), annotations: [] },
        { type: 'refusal', refusal: mark() },
      ],
    },
  ],
  () => [{ type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'not said' }] }],
  (_, mark, nth) => [
    { type: 'function_call', call_id: `c${nth}`, name: 'f', arguments: JSON.stringify({ a: mark() }) },
    { type: 'function_call', call_id: `d${nth}`, name: 'g', namespace: 'n', arguments: '{}' },
    { type: 'function_call_output', call_id: `d${nth}`, output: mark() },
    { type: 'function_call_output', call_id: `c${nth}`, output: [{ type: 'input_text', text: mark() }] },
  ],
  (_, mark, nth) => [
    { type: 'custom_tool_call', call_id: `c${nth}`, name: 'p', input: mark() },
    { type: 'custom_tool_call_output', call_id: `c${nth}`, output: mark() },
  ],
  (_, mark, nth) => [
    { type: 'function_call', call_id: `c${nth}`, name: 'view', arguments: '{}' },
    {
      ...{ type: 'function_call_output', call_id: `c${nth}` },
      output: [
        { type: 'input_text', text: mark() },
        { type: 'input_image', image_url: mark() },
      ],
    },
  ],
];

const TOOLS = [
  [],
  [{ type: 'function', name: 'f', parameters: { type: 'object' }, strict: true }],
  [
    { type: 'custom', name: 'p', format: { type: 'text' } },
    {
      type: 'namespace',
      name: 'n',
      description: '',
      tools: [{ type: 'function', name: 'g', parameters: null }],
    },
    { type: 'web_search', external_web_access: false },
  ],
];

const OPTIONS = [
  {},
  { stream: true, store: false, include: ['reasoning.encrypted_content'] },
  { max_output_tokens: 100, temperature: 0.5, top_p: null },
  { text: { format: { type: 'json_schema', name: 'a', schema: {} }, verbosity: 'low' } },
  { reasoning: { effort: 'high', summary: 'auto' }, truncation: 'auto', metadata: { a: 'b' } },
];

/** A result may come anywhere after its call. */
function shuffledResults(random: SeededRandom, items: readonly object[]): object[] {
  const placed = [...items];
  for (let at = placed.length - 1; at >= 0; at -= 1) {
    const item = placed[at] as { type?: string };
    if (!item.type?.endsWith('_output') || random.below(3) > 0) continue;
    placed.splice(at, 1);
    placed.splice(at + random.below(placed.length - at + 1), 0, item);
  }
  return placed;
}
