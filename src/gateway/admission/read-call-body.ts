import type { MemoryShare } from '../../http/memory-limit.ts';
import { type CountedBodyBounds, readBody, tooLargeMessage } from '../../http/read-body.ts';
import type { ClientWire } from '../json/client-wire.ts';
import { type ModelBodyFields, type ReadModelBody, readModelBody } from '../json/request-body.ts';
import type { Refusal } from './refusals.ts';

type ReadCallBody =
  | {
      outcome: 'read';
      bytes: Uint8Array<ArrayBuffer>;
      fields: ModelBodyFields;
      share?: MemoryShare | undefined;
    }
  | { outcome: 'refused'; refusal: Refusal };

export interface CallBodyParts {
  readonly bodyBounds: CountedBodyBounds;
  /**
   * Scans a body above 1 MB outside of the event loop, which it would block for up to a second; null if that is not possible
   * now. If omitted, such bodies are scanned like all others.
   */
  readonly scanLargeBody?:
    | ((companyId: string, bytes: Uint8Array, wire: ClientWire) => Promise<ReadModelBody | null>)
    | undefined;
}

const LARGE_BODY_BYTES = 1024 * 1024;

/** Reads the whole body of a model call, then scans its bytes once. */
export async function readCallBody(
  request: Request,
  { bodyBounds, scanLargeBody }: CallBodyParts,
  wire: ClientWire,
  companyId: string,
): Promise<ReadCallBody> {
  const contentType = request.headers.get('content-type');
  if (contentType !== null && !/^application\/([\w.-]+\+)?json\b/i.test(contentType)) {
    return refuseBody({ name: 'invalidRequest', message: 'Send the body as application/json.' });
  }
  const body = await readBody(request, bodyBounds, companyId);
  switch (body.outcome) {
    case 'too-large':
      return refuseBody({ name: 'tooLarge', message: tooLargeMessage(request, bodyBounds.maxBytes) });
    case 'too-slow':
      return refuseBody({ name: 'tooSlow' });
    case 'unknown-encoding':
      return refuseBody({ name: 'unsupportedEncoding' });
    case 'broken':
      return refuseBody({
        name: 'invalidRequest',
        message: body.problem ?? 'The body is incomplete or broken.',
      });
    case 'memory-full':
      return refuseBody(TOO_MANY_LARGE);
    case 'read': {
      const { share } = body;
      const isLarge = body.bytes.length > LARGE_BODY_BYTES && scanLargeBody !== undefined;
      const read = isLarge
        ? await scanLargeBody(companyId, body.bytes, wire)
        : readModelBody(body.bytes, wire);
      if (read === null || read.outcome !== 'read') share?.release();
      if (read === null) return refuseBody(TOO_MANY_LARGE);
      if (read.outcome !== 'read') {
        return refuseBody({ name: 'invalidRequest', message: read.message, param: read.param });
      }
      const { fields, bytes = body.bytes } = read;
      return { outcome: 'read', bytes, fields, share };
    }
  }
}

/** For a body that has no room in the memory, or in the thread that scans it. */
export const TOO_MANY_LARGE: Refusal = {
  name: 'unavailable',
  message: 'Too many large bodies are being read right now. Retry shortly.',
  retryAfterMs: 2_000,
};

function refuseBody(refusal: Refusal): ReadCallBody {
  return { outcome: 'refused', refusal };
}
