/** An error answer in the provider's envelope. It is thrown, so that all changes of the request are rolled back. */
interface Refusal extends Error {
  readonly name: 'Refusal';
  readonly status: number;
  readonly error: RefusalFields;
}

export interface RefusalFields {
  readonly type: 'invalid_request_error' | 'idempotency_error' | 'card_error' | 'api_error';
  readonly message: string;
  readonly code?: string;
  readonly param?: string;
  readonly decline_code?: string;
}

export function refusal(status: number, error: RefusalFields): Refusal {
  return Object.assign(new Error(error.message), { name: 'Refusal' as const, status, error });
}

export function isRefusal(error: unknown): error is Refusal {
  return error instanceof Error && error.name === 'Refusal';
}

export function invalid(message: string, param?: string, code?: string): Refusal {
  const type = 'invalid_request_error';
  return refusal(400, { type, message, ...(code ? { code } : {}), ...(param ? { param } : {}) });
}

const NAMES: Readonly<Record<string, string>> = {
  'checkout.session': 'checkout.session',
  payment_intent: 'payment_intent',
  webhook_endpoint: 'webhook endpoint',
  'billing_portal.session': 'billing_portal session',
};

/** 404 if the path names the object, 400 if a parameter does; the message is the same. */
export function noSuch(kind: string, id: string, param: string, status: 400 | 404 = 400): Refusal {
  const message = `No such ${NAMES[kind] ?? kind}: '${id.slice(0, 255)}'`;
  return refusal(status, { type: 'invalid_request_error', message, code: 'resource_missing', param });
}

export function cardError(message: string, code: string, declineCode?: string): RefusalFields {
  const declined = declineCode === undefined ? {} : { decline_code: declineCode };
  return { type: 'card_error', message, code, ...declined };
}
