import type { UpstreamTarget } from '../../../../ports/model-upstream.ts';

/**
 * How the name of a target's model affects requests for reasoning. Both APIs have models that refuse a call with a
 * reasoning effort, so it is only sent to models that are known to accept it; others reason by their default.
 */
export type Effort = 'low' | 'medium' | 'high';

/** Families that accept `reasoning_effort` in chat completions. */
const TAKES_EFFORT =
  /(^|[/.:_-])(o[134](-|$)|gpt-([5-9]|[12]\d)(\.\d+)?(?!-chat)(?![\d.])|gpt-oss|gemini-(2\.5|[3-9])|grok-(3-mini|[4-9])|magistral)/i;

interface NamedModel {
  readonly model: string;
  /** The name of its preset. */
  readonly provider?: string | undefined;
}

/** The effort to request in chat completions; null for the model's default. */
export function chatEffort(
  named: NamedModel,
  effort: Effort | null,
  hasTools: boolean,
): Effort | 'none' | null {
  return besideTools(named, TAKES_EFFORT.test(named.model) ? effort : null, hasTools);
}

/** The effort that a client has named for the model: only models that are known to refuse it do not get it. */
export function givenChatEffort(named: NamedModel, effort: string | null, hasTools: boolean): string | null {
  const refuses = gptVersion(named.model) > 0 && !TAKES_EFFORT.test(named.model);
  return besideTools(named, refuses ? null : effort, hasTools);
}

/**
 * OpenAI offers reasoning between function calls in the Responses API only, which OpenRouter calls by itself. Any other host
 * may pass chat completions on to OpenAI.
 */
function besideTools<Asked extends string>(
  { model, provider }: NamedModel,
  asked: Asked | null,
  hasTools: boolean,
): Asked | 'none' | null {
  const version = gptVersion(model);
  if (!hasTools || version < 502 || provider === 'openrouter') return asked;
  return version >= 506 ? 'none' : null;
}

/** Whether a model accepts `temperature` and `top_p` in chat completions: those of OpenAI do not while they reason. */
export function takesChatSampling(model: string, effort: Effort | 'none' | null): boolean {
  if (isOSeries(model)) return false;
  const version = gptVersion(model);
  const isChat = /gpt-[\d.]+-chat/i.test(model);
  if (version < 500 || effort === 'none' || (version === 500 && isChat)) return true;
  const reasonsByDefault = version === 500 || version > 504 || /-(?:pro|codex)/i.test(model);
  return effort === null && !reasonsByDefault && !isChat;
}

/** They call one tool at a time and refuse `parallel_tool_calls`. */
export function isOSeries(model: string): boolean {
  return /(^|[/.:_-])o[134](-|$)/i.test(model);
}

/**
 * The name of the maximum in chat completions that we write. At any host OpenAI's reasoning models refuse the older name,
 * and its earlier models know that one everywhere. For other models it is the name of their provider.
 */
export function maxTokensNameOf({ model, wire }: Pick<UpstreamTarget, 'model' | 'wire'>) {
  const version = gptVersion(model);
  if (isOSeries(model) || version >= 500) return 'max_completion_tokens';
  return version > 0 ? 'max_tokens' : (wire?.maxTokensName ?? 'max_tokens');
}

/** 5.2 is 502; 0 for models of another family, and for gpt-35 and gpt-41, as deployments of older models are named. */
function gptVersion(model: string): number {
  const named = /(?:^|[/.:_-])gpt-([1-9]|[12]\d)(?:\.(\d{1,2}))?(?!\d)/i.exec(model);
  return named === null ? 0 : Number(named[1]) * 100 + Number(named[2] ?? 0);
}

const WITHOUT_TOP_K = ['openai', 'azure', 'groq', 'mistral'];

/** Whether chat completions of the provider have `top_k`. The preset `openai` is used for compatible servers too. */
export function hasTopK({
  model,
  provider,
}: {
  readonly model: string;
  readonly provider?: string | undefined;
}): boolean {
  if (provider === undefined || !WITHOUT_TOP_K.includes(provider)) return true;
  return provider === 'openai' && gptVersion(model) === 0 && !isOSeries(model);
}

/** Models that need their own reasoning back in the turns of a tool loop; others refuse the member. */
export function readsReasoningBack(model: string): boolean {
  return /deepseek|kimi/i.test(model);
}

/**
 * How thinking is requested from an Anthropic model: since 4.6 the model decides itself, guided by an effort; from 3.7
 * on it gets a token budget; older ones do not think. A name without a version is treated as a new model.
 */
export function thinkingStyle(model: string): 'adaptive' | 'budget' | 'none' {
  const version = claudeVersion(model);
  if (version === null || version >= 406) return 'adaptive';
  return version >= 307 ? 'budget' : 'none';
}

/** Since 4.7, Anthropic's models refuse `temperature`, `top_p` and `top_k`. A name without a version may accept them. */
export function takesSampling(model: string): boolean {
  const version = claudeVersion(model);
  return version === null || version < 407;
}

/** 4.6 is 406; null if the name has no version. */
function claudeVersion(model: string): number | null {
  const named = /claude-(?:[a-z]+-)?(\d)(?:[-.](\d{1,2})(?!\d))?/i.exec(model);
  return named === null ? null : Number(named[1]) * 100 + Number(named[2] ?? 0);
}

/** Thinking tokens for each effort. */
export const EFFORT_BUDGETS: Readonly<Record<Effort, number>> = { low: 2_048, medium: 8_192, high: 24_576 };

/** The limits lie between the budgets above. The smallest budget of any model is 1,024. */
export function effortOfBudget(budgetTokens: number): Effort {
  if (budgetTokens <= 4_096) return 'low';
  return budgetTokens <= 16_384 ? 'medium' : 'high';
}
