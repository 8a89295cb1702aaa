import type { ZodError } from 'zod';

/** An answer other than 200, as OpenAI words it. */
export interface Refusal {
  readonly status: 400 | 503;
  readonly message: string;
  readonly param: string | null;
}

export type Accepted<T> =
  | { readonly outcome: 'accepted'; readonly request: T }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

export function accept<T>(request: T): Accepted<T> {
  return { outcome: 'accepted', request };
}

export function refuse(message: string, param: string | null): { outcome: 'refused'; refusal: Refusal } {
  return { outcome: 'refused', refusal: { status: 400, message, param } };
}

/** The first thing that is wrong, with the way to it: `messages.0.role`. */
export function refuseShape(error: ZodError): { outcome: 'refused'; refusal: Refusal } {
  const [issue] = error.issues;
  const param = issue === undefined || issue.path.length === 0 ? null : issue.path.join('.');
  const message = `Invalid request${param === null ? '' : ` at '${param}'`}: ${issue?.message ?? 'wrong shape'}.`;
  return refuse(message, param);
}

export function refusalBody({ status, message, param }: Refusal): string {
  const type = status === 400 ? 'invalid_request_error' : 'server_error';
  return JSON.stringify({ error: { message, type, param, code: null } });
}
