import type { SpanAttributes, SpanKind } from '../../ports/tracer.ts';

/** A span that has ended. */
export interface EndedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly name: string;
  readonly kind: SpanKind;
  readonly startNanos: bigint;
  readonly endNanos: bigint;
  readonly attributes: SpanAttributes;
  readonly failure: string | null;
}

const KINDS = { internal: 1, server: 2, client: 3 } as const;
const STATUS_ERROR = 2;

/** The body of a POST to /v1/traces: OTLP's ExportTraceServiceRequest in its JSON form. */
export function otlpMessage(serviceName: string, spans: readonly EndedSpan[]): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributesOf({ 'service.name': serviceName }) },
        scopeSpans: [{ scope: { name: 'turnpike' }, spans: spans.map(spanOf) }],
      },
    ],
  });
}

function spanOf(span: EndedSpan) {
  const { traceId, spanId, parentSpanId, name, failure } = span;
  return {
    traceId,
    spanId,
    ...(parentSpanId === null ? {} : { parentSpanId }),
    name,
    kind: KINDS[span.kind],
    // 64 bits do not fit into a JSON number.
    startTimeUnixNano: String(span.startNanos),
    endTimeUnixNano: String(span.endNanos),
    attributes: attributesOf(
      failure === null ? span.attributes : { ...span.attributes, 'error.type': failure },
    ),
    status: failure === null ? {} : { code: STATUS_ERROR, message: failure },
  };
}

function attributesOf(attributes: SpanAttributes) {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: typedValue(value) }));
}

function typedValue(value: string | number | boolean) {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
