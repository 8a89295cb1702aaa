export type SpanKind = 'server' | 'client' | 'internal';

/** A number that may have a fraction, always sent as a double: backends give an attribute the type of its first value. */
interface Fraction {
  readonly fraction: number;
}

export type SpanAttributes = Readonly<
  Record<string, string | number | boolean | readonly string[] | Fraction>
>;

/** A span. Attributes and children added after its end are dropped. */
export interface Span {
  /** The W3C `traceparent` header, for services that continue the trace. */
  readonly traceparent: string;
  /** The caller's W3C `tracestate`, which is passed on unchanged; null if there is none. */
  readonly tracestate: string | null;
  begin(name: string, kind: SpanKind, attributes?: SpanAttributes): Span;
  set(attributes: SpanAttributes): void;
  /** Adds an event. Events beyond a limit are dropped. */
  event(name: string): void;
  /** `failure`: one word for what failed. */
  end(failure?: string | null): void;
  /** Ends the span now. It is sent when the returned function is called with the attributes that were not known yet. */
  endPending(failure?: string | null): (rest: SpanAttributes) => void;
}

/** As the caller sent them. */
interface TraceHeaders {
  readonly traceparent: string | null;
  readonly tracestate: string | null;
}

/** Takes down what happens to a request across processes. Never throws, never delays the caller. */
export interface Tracer {
  /** Goes on with the caller's trace where `traceparent` is sound. Null where this one is not taken down. */
  begin(name: string, kind: SpanKind, caller: TraceHeaders | null, attributes?: SpanAttributes): Span | null;
  /** Sends what waits, within a few seconds. */
  close(): Promise<void>;
}
