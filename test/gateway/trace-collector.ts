/** A span as a collector gets it, with its attributes as a plain object. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly events: readonly { readonly name: string; readonly timeUnixNano: string }[];
  readonly status: { readonly code?: number; readonly message?: string };
  readonly attributes: Readonly<Record<string, string | boolean | number | readonly string[]>>;
}

interface WireAttribute {
  readonly key: string;
  readonly value: {
    stringValue?: string;
    boolValue?: boolean;
    intValue?: string;
    doubleValue?: number;
    arrayValue?: { readonly values: readonly { readonly stringValue: string }[] };
  };
}

/** Takes OTLP over HTTP in JSON, as a collector does. */
export function startTraceCollector() {
  const spans: CollectedSpan[] = [];
  const requests: { readonly path: string; readonly headers: Headers; readonly text: string }[] = [];
  const state: { status: number; answer: object } = { status: 200, answer: {} };
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const text = await request.text();
      requests.push({ path: new URL(request.url).pathname, headers: request.headers, text });
      if (state.status !== 200) return new Response('no', { status: state.status });
      for (const { scopeSpans } of JSON.parse(text).resourceSpans) {
        for (const span of scopeSpans[0].spans) spans.push({ ...span, attributes: plain(span.attributes) });
      }
      return Response.json(state.answer);
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    spans,
    requests,
    state,
    close: () => server.stop(true),
  };
}

function plain(attributes: readonly WireAttribute[]): CollectedSpan['attributes'] {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const { stringValue, boolValue, intValue, doubleValue, arrayValue } = value;
      const list = arrayValue?.values.map((one) => one.stringValue);
      return [key, list ?? stringValue ?? boolValue ?? doubleValue ?? Number(intValue)];
    }),
  );
}
