/** An error with a message for the user. */
export class AnswerError extends Error {
  readonly code: string;
  readonly requestId: string | null;
  /** The API field that the error is about, such as input.name; the message does not contain it. */
  readonly field: string | null;
  /** The HTTP status of a gateway response; GraphQL errors only have codes. */
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

/** For input that a page rejects before it is sent. */
export function fieldError(field: string, message: string): AnswerError {
  return new AnswerError(message, 'BAD_USER_INPUT', null, { field });
}

interface GraphqlAnswer<Data> {
  readonly data?: Data | null;
  readonly errors?: readonly { message: string; extensions?: { code?: string; field?: string } }[];
}

/** What to do about a response without a message of its own, such as one from a proxy. */
function statusWords(status: number): string {
  if (status === 413) return 'What was sent is too large for the server. Send less at once.';
  if (status === 429) return 'There were too many requests. Wait a minute, then try again.';
  if (status >= 500) return `The server is not available (${status}). Try again in a moment.`;
  return `The server gave an answer that cannot be read (${status}). Reload the page, then try again.`;
}

const WRONG_INTEGER = /^Variable "\$\w+" got invalid value \S+ at "([\w.]+)"; Int cannot represent /;

/** An error of the API, with plain words for those of GraphQL itself. */
export function plainError(
  message: string,
  code: string,
  requestId: string | null,
  field: string | null,
): AnswerError {
  // The queries of a page are valid for the server that it was loaded from: another version answers now.
  if (code === 'GRAPHQL_VALIDATION_FAILED') {
    const words =
      'This page is from another version of the console. Copy what you have typed, then reload the page.';
    return new AnswerError(words, code, requestId);
  }
  const integer = WRONG_INTEGER.exec(message)?.[1];
  if (integer === undefined) {
    return new AnswerError(field === null ? message : sentence(message, field), code, requestId, { field });
  }
  return new AnswerError('Enter a whole number up to 2,147,483,647.', code, requestId, { field: integer });
}

/** What is wrong with a field, which the API says in part of a sentence: “at most 200 characters are taken”. */
function sentence(message: string, field: string): string {
  const words = message.startsWith(`${field}: `) ? message.slice(field.length + 2) : message;
  const start = words.replace(/^[a-z](?=[a-z]*[ ,])/, (letter) => letter.toUpperCase());
  return /[.!?…]$/.test(start) ? start : `${start}.`;
}

export function offline(): AnswerError {
  return new AnswerError(
    'The server cannot be reached. Check the connection and try again.',
    'OFFLINE',
    null,
  );
}

/** For responses that are a file on success. */
export async function refusalOf(response: Response): Promise<AnswerError> {
  const answer = (await response.json().catch(() => ({}))) as GraphqlAnswer<never>;
  const error = answer.errors?.[0];
  const requestId = response.headers.get('x-request-id');
  return new AnswerError(
    error?.message ?? statusWords(response.status),
    error?.extensions?.code ?? 'UNREADABLE',
    requestId,
  );
}

/** Uploads may take longer than this. */
const TIMEOUT_MS = 60_000;
const SMALL_BYTES = 100_000;

/** Sends JSON to the backend; anything that is not a valid answer becomes an AnswerError. */
export async function post<Data>(path: string, body: unknown, token: string | null): Promise<Data> {
  const headers: Record<string, string> = { 'content-type': 'application/json', accept: 'application/json' };
  if (token !== null) headers.authorization = `Bearer ${token}`;
  const sent = JSON.stringify(body);
  const control = new AbortController();
  const timer = sent.length > SMALL_BYTES ? undefined : setTimeout(() => control.abort(), TIMEOUT_MS);
  try {
    return await answerTo<Data>(path, { method: 'POST', headers, body: sent, signal: control.signal });
  } catch (error) {
    if (!control.signal.aborted) throw error;
    throw new AnswerError(
      'The server has not responded for a minute. If you were saving something, check whether it was saved before you try again.',
      'TIMEOUT',
      null,
    );
  } finally {
    clearTimeout(timer);
  }
}

async function answerTo<Data>(path: string, request: RequestInit): Promise<Data> {
  let response: Response;
  try {
    response = await fetch(path, request);
  } catch {
    throw offline();
  }
  const requestId = response.headers.get('x-request-id');
  let answer: GraphqlAnswer<Data>;
  try {
    answer = (await response.json()) as GraphqlAnswer<Data>;
  } catch {
    throw new AnswerError(statusWords(response.status), 'UNREADABLE', requestId);
  }
  const error = answer.errors?.[0];
  if (error !== undefined) {
    const { code = 'UNKNOWN', field = null } = error.extensions ?? {};
    throw plainError(error.message, code, requestId, field);
  }
  if (answer.data === undefined || answer.data === null) {
    throw new AnswerError(statusWords(response.status), 'UNREADABLE', requestId);
  }
  return answer.data;
}
