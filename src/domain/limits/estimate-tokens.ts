/** What a call without a bound of its own is expected to answer. */
export const DEFAULT_ANSWER_TOKENS = 1_000;
const BYTES_PER_TOKEN = 4;
/** Both factors come from the client: what they make must stay a whole number that the database can hold. */
const MOST_TOKENS = 2 ** 40;

export interface EstimatedUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/**
 * A cheap guess before the call: its bytes by four, and the most it may answer, for each choice. It changes
 * nothing in the body, and real usage takes its place afterwards.
 */
export function estimateUsage(
  bodyBytes: number,
  maxAnswerTokens: number | null,
  choices: number,
): EstimatedUsage {
  const answer = (maxAnswerTokens ?? DEFAULT_ANSWER_TOKENS) * Math.max(1, choices);
  return {
    promptTokens: Math.min(Math.ceil(bodyBytes / BYTES_PER_TOKEN), MOST_TOKENS),
    completionTokens: Math.min(answer, MOST_TOKENS),
  };
}

export function estimateTokens(bodyBytes: number, maxAnswerTokens: number | null, choices: number): number {
  const { promptTokens, completionTokens } = estimateUsage(bodyBytes, maxAnswerTokens, choices);
  return Math.min(promptTokens + completionTokens, MOST_TOKENS);
}
