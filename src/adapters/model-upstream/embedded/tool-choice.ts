import type { ChatRequest, ChatTool } from './chat-request.ts';
import { meaningfulStems, stemOf, wordsOfName } from './text-parts.ts';

/** Only so much of a message is compared with the tools: the work stays bounded. */
const LOOKED_AT = 4_000;
/** Words that are in the names of most tools and say nothing of one. */
const COMMON_IN_NAMES = new Set([
  'get',
  'set',
  'fetch',
  'do',
  'run',
  'call',
  'the',
  'of',
  'for',
  'by',
  'tool',
  'function',
]);

/** The function to call, or null for an answer in words. */
export function pickTool({ messages, tools, toolChoice }: ChatRequest): ChatTool | null {
  if (toolChoice.kind === 'none') return null;
  if (toolChoice.kind === 'named') return tools.find(({ name }) => name === toolChoice.name) ?? null;
  // A result that has come in is reported, not asked for again.
  if (toolChoice.kind === 'auto' && messages.at(-1)?.role !== 'user') return null;

  const asked = messages.findLast(({ role }) => role === 'user')?.text.slice(0, LOOKED_AT) ?? '';
  const stems = new Set([...meaningfulStems(asked), ...wordsOfName(asked).map(stemOf)]);
  let best: { tool: ChatTool; score: number } | null = null;
  for (const tool of tools) {
    const score = scoreOf(tool, asked, stems);
    if (score > (best?.score ?? 0)) best = { tool, score };
  }
  return best?.tool ?? (toolChoice.kind === 'required' ? (tools[0] ?? null) : null);
}

/**
 * 0 is no match. A message matches that has the function's name, or all words of it that say something, or one
 * of them and another word of its description. The more words, the better.
 */
function scoreOf({ name, description }: ChatTool, asked: string, stems: ReadonlySet<string>): number {
  if (asked.includes(name)) return 1_000;
  const ofName = wordsOfName(name)
    .filter((word) => !COMMON_IN_NAMES.has(word))
    .map(stemOf);
  const inName = ofName.filter((stem) => stems.has(stem)).length;
  if (inName === 0) return 0;
  const ofDescription = new Set(meaningfulStems(description.slice(0, LOOKED_AT)));
  const inDescription = [...ofDescription].filter((stem) => stems.has(stem) && !ofName.includes(stem)).length;
  if (inName === ofName.length) return 100 + inName + inDescription;
  return inDescription > 0 ? inName + inDescription : 0;
}
