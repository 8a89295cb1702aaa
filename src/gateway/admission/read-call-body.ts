import { type BodyBounds, readBody, tooLargeMessage } from '../../http/read-body.ts';
import type { ClientWire } from '../json/client-wire.ts';
import { type ModelBodyFields, readModelBody } from '../json/request-body.ts';
import type { Refusal } from './refusals.ts';

type ReadCallBody =
  | { outcome: 'read'; bytes: Uint8Array<ArrayBuffer>; fields: ModelBodyFields }
  | { outcome: 'refused'; refusal: Refusal };

/** Reads the whole body of a model call, then scans its bytes once. */
export async function readCallBody(
  request: Request,
  bodyBounds: BodyBounds,
  wire: ClientWire,
): Promise<ReadCallBody> {
  const contentType = request.headers.get('content-type');
  if (contentType !== null && !/^application\/([\w.-]+\+)?json\b/i.test(contentType)) {
    return refuseBody({ name: 'invalidRequest', message: 'Send the body as application/json.' });
  }
  const body = await readBody(request, bodyBounds);
  switch (body.outcome) {
    case 'too-large':
      return refuseBody({ name: 'tooLarge', message: tooLargeMessage(request, bodyBounds.maxBytes) });
    case 'too-slow':
      return refuseBody({ name: 'tooSlow' });
    case 'unknown-encoding':
      return refuseBody({ name: 'unsupportedEncoding' });
    case 'broken':
      return refuseBody({ name: 'invalidRequest', message: 'The body is incomplete or broken.' });
    case 'read': {
      const read = readModelBody(body.bytes, wire);
      if (read.outcome !== 'read') {
        return refuseBody({ name: 'invalidRequest', message: read.message, param: read.param });
      }
      const { fields, bytes = body.bytes } = read;
      return { outcome: 'read', bytes, fields };
    }
  }
}

function refuseBody(refusal: Refusal): ReadCallBody {
  return { outcome: 'refused', refusal };
}
