/**
 * What a client speaks to us: OpenAI's chat completions (with completions and embeddings), OpenAI's Responses, or
 * Anthropic's Messages. They differ in what a body calls its bounds, where an answer has its model and its usage, how a
 * stream ends and what an error looks like. Everything else of a call is the same code.
 */
export type ClientWire = 'completions' | 'responses' | 'messages';
