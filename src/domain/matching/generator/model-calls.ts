import type { Transaction } from '../../../ports/database.ts';

/**
 * Model calls that the platform makes for a company (G-28): the company's credit is asked before, and it is charged
 * after, as for a call of its own; what the embedded models do in a failing provider's place costs nothing. An
 * implementation also updates the breaker of the service that is called. None of it rejects: matching goes on without.
 */
export interface PlatformModelCalls {
  /** Vectors of texts in their order, by the embed alias. No text is empty. */
  embed(call: EmbedCall): Promise<Embedded>;
  /** An answer in JSON by the extract alias, and only where a provider answers for it: never by the embedded models. */
  answer(call: AnswerCall): Promise<Answered>;
  /**
   * The model that vectors come from unless it fails: stored ones of another are computed again in the background. Null where
   * there is none.
   */
  embedModel(): string | null;
  /** The worst state of the services that the two aliases are served by; closed where there are none. */
  breakerState(): 'closed' | 'open' | 'half-open';
}

export interface EmbedCall {
  readonly companyId: string;
  readonly texts: readonly string[];
  readonly signal: AbortSignal;
  readonly keep?: Keep<{ readonly vectors: readonly (readonly number[])[]; readonly model: string }>;
}

/**
 * Stores the result of a call in the transaction that charges it: a crash leaves both or neither, and no call is charged
 * twice. Not run where nothing is charged; then the caller stores the result itself.
 */
export type Keep<Result> = (transaction: Transaction, result: Result) => Promise<void>;

export type Embedded =
  | {
      readonly outcome: 'embedded';
      readonly vectors: readonly (readonly number[])[];
      /** Which model it was: vectors of different ones cannot be compared. */
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
  /** no-provider and no-credits are no failures: nothing is to be tried again soon. */
  readonly reason: 'no-provider' | 'no-credits' | 'rejected-by-breaker' | 'failed';
}

/** Without any provider: scores come from terms and facts alone. */
export const NO_MODEL_CALLS: PlatformModelCalls = {
  embed: async () => ({ outcome: 'unavailable', reason: 'no-provider' }),
  answer: async () => ({ outcome: 'unavailable', reason: 'no-provider' }),
  embedModel: () => null,
  breakerState: () => 'closed',
};
