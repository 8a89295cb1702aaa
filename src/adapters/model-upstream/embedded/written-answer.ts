import type { ChatMessage } from './chat-request.ts';
import { type CountedUnit, type Instruction, readInstruction } from './instruction.ts';
import { summarise } from './summary.ts';
import { inShort, itemsOf, linesOf, sentencesOf, wordsOf } from './text-parts.ts';

/** The first words of every answer in prose: nobody shall take it for a language model. */
export const SELF_DESCRIPTION = "Turnpike's embedded model (no language model):";

const ABILITIES =
  'I can summarise, list, count or repeat text that I am given, fill in a JSON schema and call tools. ' +
  'For answers that need understanding, have your operator add a provider.';

/** More is not looked at: the work stays bounded, and the answer says so. */
const LONGEST_GIVEN = 1_000_000;
/** A list longer than this says how many items are left. */
const LONGEST_LIST = 200;

/** The same conversation always gets the same answer. */
export function writeAnswer(messages: readonly ChatMessage[]): string {
  return `${SELF_DESCRIPTION} ${answerTo(messages)}`;
}

function answerTo(messages: readonly ChatMessage[]): string {
  const last = messages.at(-1);
  if (last?.role === 'tool' || last?.role === 'function') return reportTools(messages);

  const asked = messages.findLast(({ role }) => role === 'user') ?? last;
  const text = asked?.text.trim() ?? '';
  if (text === '') return `the message is empty. ${ABILITIES}`;
  const instruction = readInstruction(text);
  if (instruction.kind === 'greeting') return `hello! ${ABILITIES}`;
  if (instruction.kind === 'other') return answerByRole(messages, text);
  const given =
    'given' in instruction && instruction.given !== '' ? instruction.given : earlierText(messages);
  return carryOut(instruction, given);
}

/** What the system message asks for is done with the user's message: "You summarise what you are given". */
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

/** "Summarise this" without a text means what was said before. */
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

/** The results after the last thing that the assistant said, each with the name that it was called by. */
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
