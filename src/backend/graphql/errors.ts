import { GraphQLError } from 'graphql';

/** The codes of expected refusals. Any other error becomes INTERNAL_SERVER_ERROR (endpoint.ts). */
type RefusalCode =
  | 'UNAUTHENTICATED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'BAD_USER_INPUT'
  | 'CONFLICT'
  | 'RATE_LIMITED'
  | 'TOTP_REQUIRED'
  | 'STEP_UP_REQUIRED'
  | 'ANSWER_TOO_LARGE'
  | 'CEILING_REACHED'
  | 'PAYMENT_PROVIDER_FAILED';

type RefusalDetails = Readonly<Record<string, string | number>>;

/** A refusal for the client. Its message is shown as it is, so it says what to do and contains no secret. */
export function refusal(code: RefusalCode, message: string, details: RefusalDetails = {}): GraphQLError {
  return new GraphQLError(message, { extensions: { code, ...details } });
}

/**
 * `what` is a kind of object, as "API key". The message is the same for what never existed and for what belongs to
 * others.
 */
export function notFound(what: string): GraphQLError {
  return refusal('NOT_FOUND', `There is no such ${what}.`);
}

/** `field` is the path of the argument, as `input.name`. */
export function badInput(field: string, message: string): GraphQLError {
  return refusal('BAD_USER_INPUT', `${field}: ${message}`, { field });
}

export function conflict(message: string): GraphQLError {
  return refusal('CONFLICT', message);
}

/** For a change based on an older version of the object. */
export function changedSince(what: string): GraphQLError {
  return conflict(`The ${what} was changed since you opened it. Load it again and repeat your change.`);
}

/** P-26: the payment provider's own message, which may be shown. */
export function providerFailed(message: string): GraphQLError {
  return refusal('PAYMENT_PROVIDER_FAILED', message);
}

export function rateLimited(retryAfterMs: number): GraphQLError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return refusal('RATE_LIMITED', `Too many attempts. Try again in ${seconds} seconds.`, {
    retryAfterSeconds: seconds,
  });
}

export function tooManyRequests(retryAfterMs: number): GraphQLError {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return refusal('RATE_LIMITED', `Too many requests. Retry in ${seconds} seconds.`, {
    retryAfterSeconds: seconds,
  });
}

/** SIGN_UP says who gets an account. */
export function signUpRefused(message: string): GraphQLError {
  return refusal('FORBIDDEN', message, { reason: 'SIGN_UP_CLOSED' });
}

export function unauthenticated(): GraphQLError {
  const message =
    'Log in first: this needs "Authorization: Bearer <access token>" with a token that is valid.';
  return refusal('UNAUTHENTICATED', message);
}

export function forbidden(message = 'You do not have permission to do this.'): GraphQLError {
  return refusal('FORBIDDEN', message);
}
