import type { ModelMessage, ModelQuestion } from '../model-calls/ask-model.ts';
import type { DocumentFacts, Evidence } from './parsed-document.ts';

/** How a text is read: as a CV or as a job description. */
export type ParseKind = 'cv' | 'jd';

/** The result of reading a text: the profile of a CV or the posting of a job description; null if the text is neither. */
export interface ParsedText {
  readonly document: DocumentFacts;
  readonly value: Readonly<Record<string, unknown>> | null;
  readonly evidence: readonly Evidence[];
}

export type CheckedAnswer =
  /** Contains only values that are in the text. `problems` lists omitted values, which justify one repair. */
  | { readonly outcome: 'checked'; readonly parsed: ParsedText; readonly problems: readonly string[] }
  | { readonly outcome: 'wrong'; readonly problems: readonly string[] };

/** Too many texts are waiting to be read. Nothing is wrong with this one, and it can be retried. */
export class EngineBusy extends Error {
  override readonly name = 'EngineBusy';
}

/**
 * Both ways to read a text. Since a long text takes a while, it may run in a thread that companies use by turns; it
 * then rejects with EngineBusy if too many are waiting.
 */
export interface DocumentEngine {
  /**
   * The embedded engine. When aborted, it rejects with EngineBusy while the text is waiting, and skips slow steps after
   * that.
   */
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
