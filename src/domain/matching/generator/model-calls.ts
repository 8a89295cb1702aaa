import type { Transaction } from '../../../ports/database.ts';

/**
 * Model calls that the platform makes for a company (G-28). The company's credit is checked before the call and charged
 * after it, as for the company's own calls; embedded models that replace a failing provider cost nothing. An
 * implementation also updates the breaker of the called service. No method rejects: matching continues without a
 * result.
 */
export interface PlatformModelCalls {
  /** Vectors of the texts, in their order, by the embed alias. No text is empty. */
  embed(call: EmbedCall): Promise<Embedded>;
  /** A JSON answer by the extract alias, and only if a provider serves it; never by the embedded models. */
  answer(call: AnswerCall): Promise<Answered>;
  /**
   * The model of the vectors unless it fails; stored vectors of another model are recomputed in the background. Null if
   * there is none.
   */
  embedModel(): string | null;
  /** The worst state of the services behind the two aliases; closed if there are none. */
  breakerState(): 'closed' | 'open' | 'half-open';
}

export interface EmbedCall {
  readonly companyId: string;
  readonly texts: readonly string[];
  readonly signal: AbortSignal;
  readonly keep?: Keep<{ readonly vectors: readonly (readonly number[])[]; readonly model: string }>;
}

/**
 * Stores the result of a call in the transaction that charges it, so that a crash leaves both or neither, and no call
 * is charged twice. Not run if nothing is charged; the caller then stores the result itself.
 */
export type Keep<Result> = (transaction: Transaction, result: Result) => Promise<void>;

export type Embedded =
  | {
      readonly outcome: 'embedded';
      readonly vectors: readonly (readonly number[])[];
      /** The model used; vectors of different models cannot be compared. */
      readonly model: string;
    }
  | Unavailable;

export interface AnswerCall {
  readonly companyId: string;
  readonly instruction: string;
  readonly data: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  readonly keep?: Keep<{ readonly text: string }>;
}

export type Answered = { readonly outcome: 'answered'; readonly text: string } | Unavailable;

export interface Unavailable {
  readonly outcome: 'unavailable';
  /** no-provider and no-credits are not failures, and are not retried soon. */
  readonly reason: 'no-provider' | 'no-credits' | 'rejected-by-breaker' | 'failed';
}

/** Used if there is no provider: scores are computed from terms and facts only. */
export const NO_MODEL_CALLS: PlatformModelCalls = {
  embed: async () => ({ outcome: 'unavailable', reason: 'no-provider' }),
  answer: async () => ({ outcome: 'unavailable', reason: 'no-provider' }),
  embedModel: () => null,
  breakerState: () => 'closed',
};
