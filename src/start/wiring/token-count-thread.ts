/**
 * Loading the token table blocks for half a second, or two on a busy machine, and counting a long document for about 50
 * ms. That would delay all streams of the gateway, so documents are counted in a separate thread.
 */
import { loadTokens } from '../../adapters/model-upstream/embedded/tokens.ts';
import { serveRequests } from '../../adapters/worker-thread/request-thread.ts';

let tokens: ReturnType<typeof loadTokens> | null = null;

serveRequests<string, number>(async (text) => {
  tokens ??= loadTokens();
  return (await tokens).countNow(text);
});
