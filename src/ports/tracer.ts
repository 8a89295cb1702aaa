export type SpanKind = 'server' | 'client' | 'internal';

/** A quantity that may have a fraction: backends store an attribute under one type, whatever its first value was. */
export interface Fraction {
  readonly fraction: number;
}

export type SpanAttributes = Readonly<
  Record<string, string | number | boolean | readonly string[] | Fraction>
>;

/** A piece of work with a beginning and an end. What is set or begun after its end is lost. */
export interface Span {
  /** The W3C `traceparent` header, for services that continue the trace. */
  readonly traceparent: string;
  begin(name: string, kind: SpanKind, attributes?: SpanAttributes): Span;
  set(attributes: SpanAttributes): void;
  /** A moment within it. Past a bound they are dropped. */
  event(name: string): void;
  /** `failure`: one word of what went wrong. */
  end(failure?: string | null): void;
  /** Ends it now, and sends it once the returned function is called with what was not known yet. */
  endPending(failure?: string | null): (rest: SpanAttributes) => void;
}

/** Takes down what happens to a request across processes. Never throws, never holds anybody up. */
export interface Tracer {
  /** Goes on with the caller's trace where the header is sound. Null where this one is not taken down. */
  begin(name: string, kind: SpanKind, traceparent: string | null, attributes?: SpanAttributes): Span | null;
  /** Sends what waits, within a few seconds. */
  close(): Promise<void>;
}
