import type { Clock, Timer } from '../../ports/clock.ts';
import type { Log } from '../../ports/log.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { Span, SpanAttributes, SpanKind, Tracer } from '../../ports/tracer.ts';

interface OtlpTracerParts {
  /** The address of a collector, such as http://127.0.0.1:4318; `/v1/traces` is appended. */
  readonly endpoint: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  /** The share of traces started here that is sampled, from 0 to 1. Traces with a caller's decision follow that. */
  readonly sampledPart: number;
  readonly clock: Clock;
  readonly secrets: Pick<Secrets, 'randomBytes'>;
  readonly log: Log;
}

const GATHER_MS = 1_000;
/** An unavailable collector is retried after one second, two, four … up to this. */
const MOST_RETRY_MS = 30_000;
const MOST_AT_ONCE = 512;
/** The most spans that wait for the collector; further ones are dropped and counted. */
const MOST_WAITING = 4_096;
/**
 * Limits for attributes that arrive after their span has ended, which are larger than everything else: characters per
 * request, and waiting.
 */
const MOST_RESTS_AT_ONCE = 1024 * 1024;
const MOST_RESTS_WAITING = 16 * 1024 * 1024;
const SEND_TIMEOUT_MS = 5_000;
/** Per span. */
const MOST_EVENTS = 32;
/** Version, trace, parent and flags; a trace or parent of zeros is invalid. Later versions may append fields. */
const TRACEPARENT =
  /^(?:00(?=.{53}$)|(?!00|ff)[0-9a-f]{2}(?=.{53}(?:-|$)))-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})/;

/** The length that every service must propagate; a longer one may be dropped entirely. */
const TRACESTATE = /^[\x20-\x7e]{1,512}$/;

interface Place {
  readonly traceId: string;
  readonly tracestate: string | null;
  readonly parentSpanId: string | null;
}

/** Nanoseconds since 1970; each trace has its own. */
type Nanos = () => bigint;

/**
 * Sends spans to an OpenTelemetry collector, as OTLP over HTTP in JSON: they are collected for a second and sent in the
 * background. An unavailable collector costs memory up to a limit, but never a call.
 */
export function createOtlpTracer(parts: OtlpTracerParts): Tracer {
  const { clock, secrets, log } = parts;
  let waiting: EndedSpan[] = [];
  let waitingRests = 0;
  let timer: Timer | null = null;
  let sending: Promise<void> = Promise.resolve();
  let dropped = 0;
  /** 0 while the collector accepts what is sent. */
  let retryMs = 0;
  let isRefusing = false;

  function add(span: EndedSpan): void {
    if (waiting.length >= MOST_WAITING) {
      dropped += 1;
      return;
    }
    waiting.push(span);
    const isFull = isBatch(waitingRests + span.restLength) && !isBatch(waitingRests);
    waitingRests += span.restLength;
    if (retryMs === 0 && (waiting.length === MOST_AT_ONCE || isFull)) flush();
    else timer ??= clock.after(GATHER_MS, flush);
  }

  /** If too much is waiting, the span is sent without the late attributes. */
  function addWithRest(span: EndedSpan, rest: SpanAttributes): void {
    const restLength = lengthOf(rest);
    if (waitingRests + restLength > MOST_RESTS_WAITING) add(span);
    else add({ ...span, attributes: { ...span.attributes, ...rest }, restLength });
  }

  function flush(): void {
    timer?.cancel();
    timer = null;
    sending = sending.then(sendAll);
  }

  async function sendAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = nextBatch(waiting);
      const sent = await send(parts, batch);
      if (sent.outcome === 'unavailable') {
        if (retryMs === 0) log.warn('traces cannot be sent', { reason: sent.reason });
        retryMs = Math.min(Math.max(GATHER_MS, 2 * retryMs), MOST_RETRY_MS);
        timer ??= clock.after(retryMs, flush);
        return;
      }
      waiting = waiting.slice(batch.length);
      for (const { restLength } of batch) waitingRests -= restLength;
      dropped += sent.refused;
      const wasWell = retryMs === 0 && !isRefusing;
      retryMs = 0;
      isRefusing = sent.refused > 0;
      if (isRefusing && wasWell) log.warn('traces are refused', { reason: sent.reason });
      if (!isRefusing && !wasWell) log.info('traces are sent again', { dropped });
    }
  }

  function start(place: Place, nanos: Nanos, name: string, kind: SpanKind, first: SpanAttributes): Span {
    const spanId = secrets.randomBytes(8).toHex();
    const startNanos = nanos();
    const attributes = { ...first };
    const events: SpanEvent[] = [];
    let hasEnded = false;
    const ended = (failure: string | null): EndedSpan | null => {
      if (hasEnded) return null;
      hasEnded = true;
      return {
        ...{ ...place, spanId, name, kind, startNanos, endNanos: nanos(), attributes, failure },
        ...{ events, restLength: 0 },
      };
    };
    return {
      traceparent: `00-${place.traceId}-${spanId}-01`,
      tracestate: place.tracestate,
      begin: (child, childKind, more = {}) =>
        start({ ...place, parentSpanId: spanId }, nanos, child, childKind, more),
      set: (more) => void Object.assign(attributes, more),
      event(moment) {
        if (!hasEnded && events.length < MOST_EVENTS) events.push({ name: moment, atNanos: nanos() });
      },
      end(failure = null) {
        const span = ended(failure);
        if (span !== null) add(span);
      },
      endPending(failure = null) {
        let span = ended(failure);
        return (rest) => {
          if (span !== null) addWithRest(span, rest);
          span = null;
        };
      },
    };
  }

  return {
    begin(name, kind, caller, attributes = {}) {
      const [, traceId, parentSpanId, flags = ''] = TRACEPARENT.exec(caller?.traceparent ?? '') ?? [];
      if (traceId !== undefined && parentSpanId !== undefined) {
        const isSampled = (Number.parseInt(flags, 16) & 1) === 1;
        if (!isSampled) return null;
        const [tracestate = null] = TRACESTATE.exec(caller?.tracestate ?? '') ?? [];
        return start({ traceId, parentSpanId, tracestate }, createNanos(clock), name, kind, attributes);
      }
      if (!isDrawn(secrets, parts.sampledPart)) return null;
      return start(
        { traceId: secrets.randomBytes(16).toHex(), parentSpanId: null, tracestate: null },
        createNanos(clock),
        name,
        kind,
        attributes,
      );
    },
    async close() {
      flush();
      await sending;
      timer?.cancel();
    },
  };
}

type Sent =
  /** Retried, together with the spans that follow. */
  | { readonly outcome: 'unavailable'; readonly reason: string }
  /** A collector would refuse the same spans again, so they are dropped. */
  | { readonly outcome: 'answered'; readonly refused: number; readonly reason: string };

/** A longer response, or one of unknown length, is not read. */
const MOST_ANSWER_BYTES = 65_536;
/** The statuses after which OTLP requires a retry. */
const UNAVAILABLE: ReadonlySet<number> = new Set([429, 502, 503, 504]);

async function send(parts: OtlpTracerParts, batch: readonly EndedSpan[]): Promise<Sent> {
  try {
    const response = await fetch(`${parts.endpoint}/v1/traces`, {
      method: 'POST',
      headers: { ...parts.headers, 'content-type': 'application/json' },
      body: otlpMessage(parts.serviceName, batch),
      // Following a redirect would send the headers, which may contain a token, to another host.
      redirect: 'manual',
      signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
    });
    const length = Number(response.headers.get('content-length') ?? Number.POSITIVE_INFINITY);
    if (response.ok && length <= MOST_ANSWER_BYTES) {
      return { outcome: 'answered', ...partialSuccess(await response.text()) };
    }
    await response.body?.cancel();
    if (response.ok) return { outcome: 'answered', refused: 0, reason: '' };
    const reason = `the collector answered ${response.status}`;
    return UNAVAILABLE.has(response.status)
      ? { outcome: 'unavailable', reason }
      : { outcome: 'answered', refused: batch.length, reason };
  } catch (error) {
    return { outcome: 'unavailable', reason: error instanceof Error ? error.message : 'unknown' };
  }
}

/** A 200 response may report that some spans were refused, and why. Any other format is ignored. */
function partialSuccess(text: string): { readonly refused: number; readonly reason: string } {
  try {
    const { rejectedSpans = 0, errorMessage = '' } = JSON.parse(text).partialSuccess;
    return { refused: Number(rejectedSpans) || 0, reason: String(errorMessage).slice(0, 200) };
  } catch {
    return { refused: 0, reason: '' };
  }
}

function isDrawn(secrets: Pick<Secrets, 'randomBytes'>, part: number): boolean {
  if (part >= 1) return true;
  const [a = 0, b = 0, c = 0] = secrets.randomBytes(3);
  return ((a << 16) | (b << 8) | c) / 2 ** 24 < part;
}

/**
 * The clock has whole milliseconds, and the spans of a call are shorter, so a trace measures time from its first span.
 * It keeps that anchor: if the clock is set meanwhile, no span ends after its parent.
 */
function createNanos(clock: Clock): Nanos {
  const anchorNanos = BigInt(clock.now()) * 1_000_000n;
  const measuredAtAnchor = performance.now();
  return () => anchorNanos + BigInt(Math.round((performance.now() - measuredAtAnchor) * 1_000_000));
}

interface SpanEvent {
  readonly name: string;
  readonly atNanos: bigint;
}

interface EndedSpan extends Place {
  readonly spanId: string;
  readonly name: string;
  readonly kind: SpanKind;
  readonly startNanos: bigint;
  readonly endNanos: bigint;
  readonly attributes: SpanAttributes;
  readonly failure: string | null;
  readonly events: readonly SpanEvent[];
  /** The number of characters in attributes that arrived after its end. */
  readonly restLength: number;
}

function lengthOf(attributes: SpanAttributes): number {
  let length = 0;
  for (const value of Object.values(attributes)) length += typeof value === 'string' ? value.length : 0;
  return length;
}

function isBatch(restLength: number): boolean {
  return restLength >= MOST_RESTS_AT_ONCE;
}

/** At least one span; collectors refuse requests that are too large. */
function nextBatch(waiting: readonly EndedSpan[]): readonly EndedSpan[] {
  let length = 0;
  const end = waiting.slice(0, MOST_AT_ONCE).findIndex((span) => {
    const isOver = isBatch(length);
    length += span.restLength;
    return isOver;
  });
  return waiting.slice(0, end === -1 ? MOST_AT_ONCE : end);
}

const KINDS = { internal: 1, server: 2, client: 3 } as const;
const STATUS_ERROR = 2;

/** The body of a POST to /v1/traces: OTLP's ExportTraceServiceRequest as JSON. */
function otlpMessage(serviceName: string, spans: readonly EndedSpan[]): string {
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
  const { traceId, spanId, parentSpanId, tracestate, name, failure } = span;
  return {
    traceId,
    spanId,
    ...(parentSpanId === null ? {} : { parentSpanId }),
    ...(tracestate === null ? {} : { traceState: tracestate }),
    name,
    kind: KINDS[span.kind],
    // A JSON number cannot represent 64 bits.
    startTimeUnixNano: String(span.startNanos),
    endTimeUnixNano: String(span.endNanos),
    events: span.events.map((event) => ({ timeUnixNano: String(event.atNanos), name: event.name })),
    attributes: attributesOf(
      failure === null ? span.attributes : { ...span.attributes, 'error.type': failure },
    ),
    status: failure === null ? {} : { code: STATUS_ERROR, message: failure },
  };
}

function attributesOf(attributes: SpanAttributes) {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: typedValue(value) }));
}

function typedValue(value: SpanAttributes[string]): unknown {
  if (typeof value === 'object') {
    return 'fraction' in value
      ? { doubleValue: value.fraction }
      : { arrayValue: { values: value.map(typedValue) } };
  }
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
