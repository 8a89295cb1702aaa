import { type BodyBounds, readBody } from '../http/read-body.ts';
import { type ModelBodyFields, readModelBody } from './model-body.ts';
import type { Refusal } from './refusals.ts';

export type ReadCallBody =
  | { outcome: 'read'; bytes: Uint8Array<ArrayBuffer>; fields: ModelBodyFields }
  | { outcome: 'refused'; refusal: Refusal };

export async function readCallBody(request: Request, bodyBounds: BodyBounds): Promise<ReadCallBody> {
  const contentType = request.headers.get('content-type');
  if (contentType !== null && !/^application\/([\w.-]+\+)?json\b/i.test(contentType)) {
    return refusedBody({ name: 'invalidRequest', message: 'Send the body as application/json.' });
  }
  const body = await readBody(request, bodyBounds);
  switch (body.outcome) {
    case 'too-large':
      return refusedBody({
        name: 'tooLarge',
        message: `The body is larger than ${bodyBounds.maxBytes} bytes.`,
      });
    case 'too-slow':
      return refusedBody({ name: 'tooSlow' });
    case 'broken':
      return refusedBody({ name: 'invalidRequest', message: 'The body broke off.' });
    case 'read': {
      const read = readModelBody(body.bytes);
      if (read.outcome === 'read') return { outcome: 'read', bytes: body.bytes, fields: read.fields };
      return refusedBody({ name: 'invalidRequest', message: read.message, param: read.param });
    }
  }
}

function refusedBody(refusal: Refusal): ReadCallBody {
  return { outcome: 'refused', refusal };
}
