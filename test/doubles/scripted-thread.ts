/** A thread that does what each request says, for tests of the adapter that starts it. */
import { serveRequests, warnFromThread } from '../../src/adapters/worker-thread/request-thread.ts';

export type ScriptedRequest =
  | { readonly kind: 'echo'; readonly text: string }
  /** Says something for the log, then replies. */
  | { readonly kind: 'warn'; readonly text: string }
  | { readonly kind: 'fail'; readonly text: string }
  /** Replies when its call is aborted. */
  | { readonly kind: 'until-aborted' }
  /** Never replies. */
  | { readonly kind: 'hang' }
  /** Ends the thread with an error that no request carries. */
  | { readonly kind: 'break' };

serveRequests<ScriptedRequest, string>(async (request, signal) => {
  switch (request.kind) {
    case 'echo':
      return request.text;
    case 'warn':
      warnFromThread(request.text, 'no reason');
      return request.text;
    case 'until-aborted':
      return await new Promise((resolve) => {
        if (signal.aborted) resolve('aborted');
        signal.addEventListener('abort', () => resolve('aborted'));
      });
    case 'fail':
      throw new RangeError(request.text);
    case 'break':
      setImmediate(() => {
        throw new Error('broken');
      });
      return await new Promise<never>(() => {});
    case 'hang':
      return await new Promise<never>(() => {});
  }
});
