import type { ChatMessage } from './chat-request.ts';
import { inShort, itemsOf, linesOf, sentencesOf, summarise, wordsOf } from './text-parts.ts';

/** The first words of every prose answer, so that it is never mistaken for a language model's. */
export const SELF_DESCRIPTION = "Turnpike's embedded model (no language model):";

const ABILITIES =
  'I can summarise, list, count or repeat text that I am given, fill in a JSON schema and call tools. ' +
  'For better answers, ask your operator to add a provider.';

/** Text beyond this is ignored, which limits the work; the answer states it. */
const LONGEST_GIVEN = 1_000_000;
/** A longer list ends with the number of remaining items. */
const LONGEST_LIST = 200;

/** The same conversation always gets the same answer. */
export function writeAnswer(messages: readonly ChatMessage[]): string {
  return `${SELF_DESCRIPTION} ${answerTo(messages)}`;
}

function answerTo(messages: readonly ChatMessage[]): string {
  const last = messages.at(-1);
  if (last?.role === 'tool' || last?.role === 'function') return reportTools(messages);

  const question = messages.findLast(({ role }) => role === 'user') ?? last;
  const text = question?.text.trim() ?? '';
  if (text === '') return `the message is empty. ${ABILITIES}`;
  const instruction = readInstruction(text);
  if (instruction.kind === 'greeting') return `hello! ${ABILITIES}`;
  if (instruction.kind === 'other') return answerByRole(messages, text);
  const given =
    'given' in instruction && instruction.given !== '' ? instruction.given : earlierText(messages);
  return carryOut(instruction, given);
}

/** Applies the system message's instruction to the user's message: "You summarise what you are given". */
function answerByRole(messages: readonly ChatMessage[], text: string): string {
  const system = messages.find(({ role }) => role === 'system' || role === 'developer');
  const instruction: Instruction = system === undefined ? { kind: 'other' } : readInstruction(system.text);
  if (instruction.kind === 'summarise' || instruction.kind === 'count' || instruction.kind === 'list') {
    return carryOut(instruction, text);
  }
  return `I cannot answer that. ${ABILITIES} You asked: “${inShort(text, 160)}”`;
}

function carryOut(instruction: Instruction, all: string): string {
  if (all.length <= LONGEST_GIVEN) return workOn(instruction, all);
  return `(of the first million characters) ${workOn(instruction, all.slice(0, LONGEST_GIVEN).toWellFormed())}`;
}

function workOn(instruction: Instruction, given: string): string {
  if (given === '') return `there is no text to work on; send it along. ${ABILITIES}`;
  switch (instruction.kind) {
    case 'summarise':
      return summarise(given, instruction.sentenceCount);
    case 'count':
      return `${countIn(given, instruction.unit)} ${instruction.unit}.`;
    case 'list':
      return bulletList(given);
    case 'echo':
      return given;
    default:
      return ABILITIES;
  }
}

/** "Summarise this" without a text refers to the earlier messages. */
function earlierText(messages: readonly ChatMessage[]): string {
  const lastUser = messages.findLastIndex(({ role }) => role === 'user');
  return messages
    .slice(0, Math.max(0, lastUser))
    .filter(({ role }) => role === 'user' || role === 'assistant' || role === 'tool')
    .map(({ text }) => text.trim())
    .filter((text) => text !== '' && !text.startsWith(SELF_DESCRIPTION))
    .join('\n');
}

function partsIn(text: string): string[] {
  const lines = linesOf(text);
  if (lines.length > 1) return lines;
  const items = itemsOf(text);
  return items.length > 1 ? items : sentencesOf(text);
}

function countIn(text: string, unit: CountedUnit): number {
  switch (unit) {
    case 'words':
      return wordsOf(text).length;
    case 'lines':
      return text.split('\n').length;
    case 'sentences':
      return sentencesOf(text).length;
    case 'characters': {
      let count = 0;
      for (const _ of text) count += 1;
      return count;
    }
    case 'items':
      return partsIn(text).length;
  }
}

function bulletList(text: string): string {
  const parts = partsIn(text);
  const rest = parts.length - LONGEST_LIST;
  const shown = parts.slice(0, LONGEST_LIST).map((part) => `\n- ${part}`);
  return `${parts.length} items${shown.join('')}${rest > 0 ? `\n… and ${rest} more` : ''}`;
}

/** The results after the assistant's last message, each with the name of its tool. */
function reportTools(messages: readonly ChatMessage[]): string {
  const callAt = messages.findLastIndex(({ role }) => role === 'assistant');
  const calls = messages[callAt]?.toolCalls ?? [];
  return messages
    .slice(callAt + 1)
    .filter(({ role }) => role === 'tool' || role === 'function')
    .map(({ text, name, toolCallId }) => {
      const caller = calls.find(({ id }) => id === toolCallId)?.name ?? name ?? 'the tool';
      return `${caller} answered: ${text.trim() === '' ? 'nothing' : text.trim()}`;
    })
    .join('\n');
}

/**
 * The task of a message, recognised by its first or last line, and the text it applies to. Deliberately few: only what
 * a program can do without understanding the text.
 */
type Instruction =
  | { readonly kind: 'summarise'; readonly sentenceCount: number; readonly given: string }
  | { readonly kind: 'count'; readonly unit: CountedUnit; readonly given: string }
  | { readonly kind: 'list'; readonly given: string }
  | { readonly kind: 'echo'; readonly given: string }
  | { readonly kind: 'greeting' }
  | { readonly kind: 'other' };

type CountedUnit = 'words' | 'lines' | 'sentences' | 'characters' | 'items';

/** How much of a message is searched for an instruction; the rest is given text. */
const LONGEST_INSTRUCTION = 400;

const SUMMARISE =
  /\b(?:summari[sz]e[sd]?|summari[sz]ing|summary|summaries|tl;?dr|key (?:points|takeaways)|in short|recap|abstract of)\b/iu;
const COUNT =
  /\b(?:how many|count(?: the| all)?|number of)\s+(?:[\p{L}]+\s+){0,2}?(words?|lines?|sentences?|characters?|letters?|items?|entries|elements?|things)\b/iu;
const LIST = /\b(?:list|enumerate|bullet(?:s| points?| list)?|itemi[sz]e)\b/iu;
const ECHO =
  /^(?:(?:please|now|just|then|can you|could you)\s+)*(?:repeat(?: after me| back)?|echo(?: back)?|say|(?:reply|respond|answer) (?:only )?with)\b(?:\s+(?:only|just|exactly|back|verbatim|(?:the|this|these)(?: single| following)?(?: words?| phrase| text| sentence| string| number)?))*[\s:.]*/iu;
const QUOTED = /(?<!\p{L})["“`']([^"“”`]{1,2000}?)["”`'](?!\p{L})/u;
const GREETING =
  /^(?:hi|hello|hey|greetings|good (?:morning|afternoon|evening|day)|howdy|hallo|hola|bonjour)\b[\s\p{L}]{0,24}[!.?,]*$/iu;

const COUNT_WORDS: Readonly<Record<string, number>> = { one: 1, two: 2, three: 3, four: 4, five: 5, six: 6 };

function readInstruction(message: string): Instruction {
  const text = message.trim();
  if (text.length <= 60 && GREETING.test(text)) return { kind: 'greeting' };
  const { instruction, given, isSetOff } = partText(text);
  const unit = COUNT.exec(instruction)?.[1];
  const material = given === '' ? (QUOTED.exec(instruction)?.[1] ?? '') : given;
  if (unit !== undefined) return { kind: 'count', unit: unitOf(unit), given: material };
  if (SUMMARISE.test(instruction)) {
    return { kind: 'summarise', sentenceCount: sentenceCountOf(instruction.toLowerCase()), given: material };
  }
  const verb = ECHO.exec(instruction);
  if (verb !== null) {
    // The text after a colon or line end, or else the quoted text, or else everything after the verb.
    const echoed = isSetOff ? given : (QUOTED.exec(instruction)?.[1] ?? text.slice(verb[0].length).trim());
    return { kind: 'echo', given: echoed };
  }
  if (LIST.test(instruction)) return { kind: 'list', given: material };
  return { kind: 'other' };
}

interface PartedText {
  readonly instruction: string;
  readonly given: string;
  /** Whether a colon or a line end separates them. */
  readonly isSetOff: boolean;
}

/**
 * The instruction ends at the first colon, line end or sentence end at which it is recognised, or it is the last line,
 * below its text. Without either, there is no given text, and the beginning is the instruction.
 */
function partText(text: string): PartedText {
  const head = text.slice(0, LONGEST_INSTRUCTION);
  for (const end of head.matchAll(/:\s|\n|[.!?]\s/gu)) {
    const instruction = head.slice(0, end.index + 1).trim();
    if (!isInstruction(instruction)) continue;
    const given = text.slice(end.index + end[0].length).trim();
    return { instruction, given, isSetOff: /[:\n]/u.test(end[0]) };
  }
  const lastLineAt = text.lastIndexOf('\n') + 1;
  const last = text.slice(lastLineAt);
  if (lastLineAt > 0 && last.length <= LONGEST_INSTRUCTION && isInstruction(last)) {
    return { instruction: last, given: text.slice(0, lastLineAt).trim(), isSetOff: true };
  }
  return { instruction: head, given: '', isSetOff: false };
}

function isInstruction(text: string): boolean {
  return [SUMMARISE, COUNT, LIST, ECHO].some((pattern) => pattern.test(text));
}

function unitOf(unit: string): CountedUnit {
  const word = unit.toLowerCase();
  if (word.startsWith('word')) return 'words';
  if (word.startsWith('line')) return 'lines';
  if (word.startsWith('sentence')) return 'sentences';
  return word.startsWith('character') || word.startsWith('letter') ? 'characters' : 'items';
}

/** For `in two sentences` or `3 key points`; three if no number is given. */
function sentenceCountOf(instruction: string): number {
  const number = /\b(\d{1,2}|one|two|three|four|five|six)\b/u.exec(instruction)?.[1];
  if (number !== undefined) return Math.min(20, Math.max(1, COUNT_WORDS[number] ?? Number(number)));
  return /\b(?:a|single) sentence\b/u.test(instruction) ? 1 : 3;
}
