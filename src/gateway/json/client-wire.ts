/**
 * The wire format of a client: OpenAI's chat completions (with completions and embeddings), OpenAI's Responses, or
 * Anthropic's Messages. They differ in the names of limits in a body, the position of model and usage in an answer, the end
 * of a stream and the format of errors. All other code is shared.
 */
export type ClientWire = 'completions' | 'responses' | 'messages';
