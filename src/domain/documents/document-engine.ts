import type { ModelMessage, ModelQuestion } from '../model-calls/ask-model.ts';
import type { DocumentFacts, Evidence } from './parsed-document.ts';

/** What a text is to be read as: a CV, or a job description. */
export type ParseKind = 'cv' | 'jd';

/** A read text: the profile of a CV or the posting of a job description; null where the text is neither. */
export interface ParsedText {
  readonly document: DocumentFacts;
  readonly value: Readonly<Record<string, unknown>> | null;
  readonly evidence: readonly Evidence[];
}

export type CheckedAnswer =
  /** What is not in the text is no part of it any more. `problems`: what had to be left out, worth one repair. */
  | { readonly outcome: 'checked'; readonly parsed: ParsedText; readonly problems: readonly string[] }
  | { readonly outcome: 'wrong'; readonly problems: readonly string[] };

/** Too many texts wait to be read: nothing is wrong with this one, it may come again. */
export class EngineBusy extends Error {
  override readonly name = 'EngineBusy';
}

/**
 * The two ways to read a text, as one thing to hand over. A long text takes a while, so it may be in a thread, which
 * companies use by turns; it then rejects with EngineBusy where too many wait.
 */
export interface DocumentEngine {
  /** The embedded engine. Aborted, it rejects with EngineBusy while the text waits, and leaves out what takes long after. */
  read(
    kind: ParseKind,
    text: string,
    companyId: string,
    signal?: AbortSignal,
  ): ParsedText | Promise<ParsedText>;
  question(kind: ParseKind, text: string): ModelQuestion;
  /** The messages that ask a model to correct its answer, with the conversation so far. */
  repair(said: readonly ModelMessage[], answer: string, problems: readonly string[]): readonly ModelMessage[];
  check(
    kind: ParseKind,
    text: string,
    answer: string,
    companyId: string,
  ): CheckedAnswer | Promise<CheckedAnswer>;
}
