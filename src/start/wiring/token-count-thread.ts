/**
 * Loading the table of tokens takes half a second without a pause, two on a busy machine, and counting a long document some
 * 50 ms: no stream of the gateway would move meanwhile. So documents are counted in a thread of their own.
 */
import { loadTokens } from '../../adapters/model-upstream/embedded/tokens.ts';
import { serveRequests } from '../../adapters/worker-thread/request-thread.ts';

let tokens: ReturnType<typeof loadTokens> | null = null;

serveRequests<string, number>(async (text) => {
  tokens ??= loadTokens();
  return (await tokens).countNow(text);
});
