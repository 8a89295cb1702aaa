/** What went wrong, in words for a person. */
export class AnswerError extends Error {
  readonly code: string;
  readonly requestId: string | null;
  /** The field of the API that it is about, as input.name; the message is without it. */
  readonly field: string | null;
  /** Of an answer of the gateway; GraphQL has codes alone. */
  readonly status: number | null;

  constructor(
    message: string,
    code: string,
    requestId: string | null,
    { status = null, field = null }: { status?: number | null; field?: string | null } = {},
  ) {
    super(field !== null && message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message);
    this.code = code;
    this.requestId = requestId;
    this.status = status;
    this.field = field;
  }
}

/** For what a page refuses itself, before it is sent. */
export function fieldError(field: string, message: string): AnswerError {
  return new AnswerError(message, 'BAD_USER_INPUT', null, { field });
}

interface GraphqlAnswer<Data> {
  readonly data?: Data | null;
  readonly errors?: readonly { message: string; extensions?: { code?: string; field?: string } }[];
}

/** Sends JSON to the backend; whatever is not an answer becomes an AnswerError. */
export async function post<Data>(path: string, body: unknown, token: string | null): Promise<Data> {
  const headers: Record<string, string> = { 'content-type': 'application/json', accept: 'application/json' };
  if (token !== null) headers.authorization = `Bearer ${token}`;
  let response: Response;
  try {
    response = await fetch(path, { method: 'POST', headers, body: JSON.stringify(body) });
  } catch {
    throw new AnswerError(
      'The server cannot be reached. Check the connection and try again.',
      'OFFLINE',
      null,
    );
  }
  const requestId = response.headers.get('x-request-id');
  let answer: GraphqlAnswer<Data>;
  try {
    answer = (await response.json()) as GraphqlAnswer<Data>;
  } catch {
    throw new AnswerError(`The server answered ${response.status} without words.`, 'UNREADABLE', requestId);
  }
  const error = answer.errors?.[0];
  if (error !== undefined) {
    const { code = 'UNKNOWN', field = null } = error.extensions ?? {};
    throw new AnswerError(error.message, code, requestId, { field });
  }
  if (answer.data === undefined || answer.data === null) {
    throw new AnswerError(
      `The server answered ${response.status} and nothing else.`,
      'UNREADABLE',
      requestId,
    );
  }
  return answer.data;
}
