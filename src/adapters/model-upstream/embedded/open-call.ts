import { type ZodError, z } from 'zod';
import type { UpstreamAnswer, UpstreamBody, UpstreamFailure } from '../../../ports/model-upstream.ts';
import type { Tokens } from './tokens.ts';

/** A call whose body has been parsed as JSON, with what every answer needs. */
export interface OpenCall {
  readonly model: string;
  readonly body: unknown;
  readonly tokens: Tokens;
  readonly signal: AbortSignal;
  /** Seconds since the epoch. */
  readonly created: number;
  /** Without hyphens. */
  readonly newId: () => string;
}

export function jsonAnswer(parts: Iterable<string>, signal: AbortSignal): UpstreamAnswer {
  return { status: 200, contentType: 'application/json', body: pulledBody(parts, signal) };
}

/** Server-sent events, one per part. */
export function eventAnswer(events: Iterable<object>, signal: AbortSignal): UpstreamAnswer {
  return { status: 200, contentType: 'text/event-stream', body: pulledBody(asEvents(events), signal) };
}

export function refusedAnswer(refusal: Refusal, signal: AbortSignal): UpstreamAnswer {
  const body = pulledBody([refusalBody(refusal)], signal);
  return { status: refusal.status, contentType: 'application/json', body };
}

function* asEvents(events: Iterable<object>): Generator<string> {
  for (const event of events) yield `data: ${JSON.stringify(event)}\n\n`;
  yield 'data: [DONE]\n\n';
}

/** Each part is created when it is read, so that a slow client delays only its own answer, which is not buffered. */
function pulledBody(parts: Iterable<string>, signal: AbortSignal): UpstreamBody {
  const iterator = parts[Symbol.iterator]();
  const toBytes = new TextEncoder();
  let isCancelled = false;
  return {
    read() {
      while (!signal.aborted && !isCancelled) {
        const { done, value } = iterator.next();
        if (done === true) return null;
        if (value !== '') return toBytes.encode(value);
      }
      return 'broken';
    },
    cancel() {
      isCancelled = true;
    },
  };
}

export function upstreamFailure(reason: 'aborted' | 'broken', cause?: unknown): UpstreamFailure {
  const message = reason === 'aborted' ? 'the call was aborted' : 'the embedded model failed';
  const error = new Error(message, cause === undefined ? undefined : { cause });
  return Object.assign(error, { name: 'UpstreamFailure' as const, reason });
}

/** An answer other than 200, in OpenAI's format. */
export interface Refusal {
  readonly status: 400 | 404 | 503;
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

/** The first problem, with its path, such as `messages.0.role`. */
export function refuseShape(error: ZodError): { outcome: 'refused'; refusal: Refusal } {
  const [issue] = error.issues;
  const param = issue === undefined || issue.path.length === 0 ? null : issue.path.join('.');
  const message = `Invalid request${param === null ? '' : ` at '${param}'`}: ${issue?.message ?? 'wrong shape'}.`;
  return refuse(message, param);
}

function refusalBody({ status, message, param }: Refusal): string {
  const type = status === 503 ? 'server_error' : 'invalid_request_error';
  return JSON.stringify({ error: { message, type, param, code: null } });
}

/** A text, or a text that the client has already encoded as tokens. */
export type TextInput =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tokens'; readonly tokens: readonly number[] };

/** OpenAI's limit for embeddings. */
export const MAX_INPUTS = 2_048;

/**
 * A string, several strings, one array of tokens, or several. Parsed by hand, because it may contain millions of
 * numbers.
 */
export function readTextInputs(value: unknown, param: string): Accepted<readonly TextInput[]> {
  if (typeof value === 'string') return accept([{ kind: 'text', text: value }]);
  if (!Array.isArray(value)) {
    return refuse(`'${param}' must be a string, an array of strings, or arrays of token numbers.`, param);
  }
  if (value.length === 0) return refuse(`'${param}' must not be an empty array.`, param);
  const tokens = tokensIn(value);
  if (tokens !== null) return accept([{ kind: 'tokens', tokens }]);
  if (value.length > MAX_INPUTS) return refuse(`'${param}' must have at most ${MAX_INPUTS} elements.`, param);
  const inputs: TextInput[] = [];
  for (const one of value as readonly unknown[]) {
    const ofOne = Array.isArray(one) ? tokensIn(one) : null;
    if (typeof one === 'string') inputs.push({ kind: 'text', text: one });
    else if (ofOne !== null) inputs.push({ kind: 'tokens', tokens: ofOne });
    else
      return refuse(`'${param}.${inputs.length}' is neither a string nor an array of token numbers.`, param);
  }
  if (new Set(inputs.map(({ kind }) => kind)).size > 1) {
    return refuse(`'${param}' must not mix strings with arrays of tokens.`, param);
  }
  return accept(inputs);
}

function tokensIn(value: readonly unknown[]): readonly number[] | null {
  const isToken = (one: unknown) => Number.isSafeInteger(one) && (one as number) >= 0;
  return value.length > 0 && value.every(isToken) ? (value as readonly number[]) : null;
}

/** The fields that chat and legacy completions share. Fields that do not apply to a deterministic model are ignored. */
export const samplingFields = {
  n: z.int().min(1).max(16).nullish(),
  max_tokens: z.int().min(0).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
};

export interface Sampling {
  readonly choices: number;
  readonly stop: readonly string[];
  readonly isStream: boolean;
  readonly includesUsage: boolean;
}

type SamplingFields = z.infer<z.ZodObject<typeof samplingFields>>;

export function samplingOf({ n, stop, stream, stream_options }: SamplingFields): Sampling {
  return {
    choices: n ?? 1,
    // An empty stop sequence would end every answer before it starts.
    stop: (typeof stop === 'string' ? [stop] : (stop ?? [])).filter((one) => one !== ''),
    isStream: stream === true,
    includesUsage: stream_options?.include_usage === true,
  };
}

/** The text before the first stop sequence. */
export function beforeStop(text: string, stops: readonly string[]): string {
  const places = stops.map((stop) => text.indexOf(stop)).filter((place) => place >= 0);
  return places.length === 0 ? text : text.slice(0, Math.min(...places));
}
