import { chargedTokens, type FinishedCall } from '../domain/calls/settlement/finished-call.ts';
import type { CallBook } from '../domain/calls/settlement/settle-call.ts';
import type { Counter as CounterMetric, MetricSample } from '../http/metrics.ts';

/**
 * Counts of this process's calls for Prometheus. Labels are bounded: endpoints, aliases, outcomes and the codes of our
 * own table; never a key, a company or a target.
 */
export interface CallMeters {
  count(call: FinishedCall): void;
  /** A request without a known key. */
  countUnknown(refusal: string): void;
  metrics(): readonly CounterMetric[];
}

/** In seconds. Models answer within a tenth of a second to minutes. */
const DURATION_BOUNDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

interface Histogram {
  readonly labels: Readonly<Record<string, string>>;
  /** One more than there are bounds: the last is for what exceeds them all. */
  readonly counts: number[];
  sum: number;
}

interface Counter {
  readonly labels: Readonly<Record<string, string>>;
  value: number;
}

type Counters = Map<string, Counter>;

/** The counters of one endpoint, alias and outcome. Each is listed once its first call is counted. */
interface MetersOfCalls {
  readonly calls: Counter;
  readonly durations: () => Histogram;
  readonly firstBytes: () => Histogram;
  readonly prompt: () => Counter;
  readonly cacheWrite: () => Counter;
  readonly cached: () => Counter;
  readonly completion: () => Counter;
}

export function createCallMeters(): CallMeters {
  const calls: Counters = new Map();
  const tokens: Counters = new Map();
  const unknown: Counters = new Map();
  const durations = new Map<string, Histogram>();
  const firstBytes = new Map<string, Histogram>();
  const ofTokens = (alias: string, kind: string) => counterIn(tokens, `${alias} ${kind}`, { alias, kind });
  const places = new Map<string, MetersOfCalls>();

  /** One look-up per call instead of one per counter. */
  function metersOf(endpoint: string, alias: string, outcome: string, reason: string): MetersOfCalls {
    const name = `${endpoint} ${alias} ${outcome} ${reason}`;
    const known = places.get(name);
    if (known !== undefined) return known;
    const place = { endpoint, alias };
    const made: MetersOfCalls = {
      calls: counterIn(calls, name, { endpoint, alias, outcome, reason }),
      durations: once(() => histogramIn(durations, `${endpoint} ${alias}`, place)),
      firstBytes: once(() => histogramIn(firstBytes, `${endpoint} ${alias}`, place)),
      prompt: once(() => ofTokens(alias, 'prompt')),
      cacheWrite: once(() => ofTokens(alias, 'cache_write')),
      cached: once(() => ofTokens(alias, 'cached')),
      completion: once(() => ofTokens(alias, 'completion')),
    };
    places.set(name, made);
    return made;
  }

  return {
    count(call) {
      const { endpoint, outcome } = call;
      const used = chargedTokens(call);
      const meters = metersOf(endpoint, call.alias ?? 'none', outcome, call.reason ?? 'none');
      meters.calls.value += 1;
      if (outcome === 'REFUSED') return;
      observe(meters.durations(), call.durationMs);
      if (call.firstByteMs !== null) observe(meters.firstBytes(), call.firstByteMs);
      if (used === null) return;
      meters.prompt().value += used.promptTokens;
      if (used.cacheWriteTokens !== undefined) meters.cacheWrite().value += used.cacheWriteTokens;
      meters.cached().value += used.cachedTokens;
      meters.completion().value += used.completionTokens;
    },
    countUnknown(refusal) {
      counterIn(unknown, refusal, { refusal }).value += 1;
    },
    metrics: () => [
      counter('turnpike_calls_total', 'Calls of known keys, by outcome.', calls),
      counter('turnpike_unknown_requests_total', 'Requests refused before a key was known.', unknown),
      counter(
        'turnpike_tokens_total',
        'Tokens that models used; cached ones and those written to a cache are parts of the prompt.',
        tokens,
      ),
      histogram('turnpike_call_duration_seconds', 'From the request to the end of the response.', durations),
      histogram(
        'turnpike_first_byte_seconds',
        'From the request to the first byte of the model’s response.',
        firstBytes,
      ),
    ],
  };
}

/** Counts every recorded call, however it is written. */
export function withMeters(book: CallBook, meters: CallMeters): CallBook {
  return {
    ...book,
    settle(call, onSent) {
      meters.count(call);
      return book.settle(call, onSent);
    },
    note(call) {
      meters.count(call);
      book.note(call);
    },
  };
}

function once<T>(make: () => T): () => T {
  let made: T | null = null;
  return () => {
    made ??= make();
    return made;
  };
}

function counterIn(counters: Counters, name: string, labels: Readonly<Record<string, string>>): Counter {
  const known = counters.get(name);
  if (known !== undefined) return known;
  const counter = { labels, value: 0 };
  counters.set(name, counter);
  return counter;
}

function histogramIn(
  histograms: Map<string, Histogram>,
  place: string,
  labels: Readonly<Record<string, string>>,
): Histogram {
  const known = histograms.get(place);
  if (known !== undefined) return known;
  const counts = new Array<number>(DURATION_BOUNDS.length + 1).fill(0);
  const histogram = { labels, counts, sum: 0 };
  histograms.set(place, histogram);
  return histogram;
}

function observe(histogram: Histogram, ms: number): void {
  const seconds = ms / 1_000;
  let bucket = 0;
  while (bucket < DURATION_BOUNDS.length && seconds > (DURATION_BOUNDS[bucket] as number)) bucket += 1;
  histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + 1;
  histogram.sum += seconds;
}

function counter(name: string, help: string, counters: Counters): CounterMetric {
  return { name, help, type: 'counter', samples: [...counters.values()] };
}

function histogram(name: string, help: string, histograms: Map<string, Histogram>): CounterMetric {
  const samples = [...histograms.values()].flatMap(({ labels, counts, sum }) => {
    let count = 0;
    const buckets = counts.map((value, at): MetricSample => {
      count += value;
      return {
        suffix: '_bucket',
        labels: { ...labels, le: String(DURATION_BOUNDS[at] ?? '+Inf') },
        value: count,
      };
    });
    return [
      ...buckets,
      { suffix: '_sum', labels, value: sum },
      { suffix: '_count', labels, value: count },
    ] as const;
  });
  return { name, help, type: 'histogram', samples };
}
