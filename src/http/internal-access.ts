import type { MiddlewareHandler } from 'hono';
import { bearerToken, sameSecret } from './bearer-token.ts';
import { envelopeResponse, errorEnvelope } from './error-envelope.ts';

const REFUSAL = errorEnvelope(
  'authentication_error',
  'This route is internal. Send "Authorization: Bearer <internal token>": the token is the INTERNAL_TOKEN ' +
    "setting, and on the embedded default it is internal_token in the data folder's demo.json.",
);

/** Lets in who holds an internal token; everyone else gets one and the same answer. Fails closed. */
export function internalAccess(internalTokens: readonly string[]): MiddlewareHandler {
  return async (context, next) => {
    const token = bearerToken(context.req.raw);
    if (token === null || !internalTokens.some((internalToken) => sameSecret(token, internalToken))) {
      return envelopeResponse(401, REFUSAL, { 'www-authenticate': 'Bearer' });
    }
    return await next();
  };
}
