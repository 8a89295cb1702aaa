export type SpanKind = 'server' | 'client' | 'internal';

/** A number that may have a fraction, always sent as a double: backends give an attribute the type of its first value. */
export interface Fraction {
  readonly fraction: number;
}

export type SpanAttributes = Readonly<
  Record<string, string | number | boolean | readonly string[] | Fraction>
>;

/** A span. Attributes and children added after its end are dropped. */
export interface Span {
  /** The W3C `traceparent` header, for services that continue the trace. */
  readonly traceparent: string;
  begin(name: string, kind: SpanKind, attributes?: SpanAttributes): Span;
  set(attributes: SpanAttributes): void;
  /** Adds an event. Events beyond a limit are dropped. */
  event(name: string): void;
  /** `failure`: one word for what failed. */
  end(failure?: string | null): void;
  /** Ends the span now. It is sent when the returned function is called with the attributes that were not known yet. */
  endPending(failure?: string | null): (rest: SpanAttributes) => void;
}

/** Records traces of requests across processes. Never throws and never blocks. */
export interface Tracer {
  /** Continues the caller's trace if the header is valid. Null if this request is not sampled. */
  begin(name: string, kind: SpanKind, traceparent: string | null, attributes?: SpanAttributes): Span | null;
  /** Sends the remaining spans, within a few seconds. */
  close(): Promise<void>;
}
