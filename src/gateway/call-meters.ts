import type { FinishedCall } from '../domain/calls/finished-call.ts';
import type { CallBook } from '../domain/calls/settle-call.ts';
import type { Metric, MetricSample } from '../http/metrics-text.ts';

/**
 * Counts of the calls of this process for Prometheus. Labels are bounded by what there is: endpoints, aliases, outcomes
 * and the reasons of our own table; never a key, a company or a target.
 */
export interface CallMeters {
  count(call: FinishedCall): void;
  /** A request that no key is known of. */
  countUnknown(refusal: string): void;
  metrics(): readonly Metric[];
}

/** In seconds. Answers of models take from a tenth of a second to minutes. */
const BOUNDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

interface Histogram {
  readonly labels: Readonly<Record<string, string>>;
  /** One more than there are bounds: the last is for what exceeds them all. */
  readonly counts: number[];
  sum: number;
}

export function createCallMeters(): CallMeters {
  const calls: Counters = new Map();
  const tokens: Counters = new Map();
  const unknown: Counters = new Map();
  const durations = new Map<string, Histogram>();
  const firstBytes = new Map<string, Histogram>();

  return {
    count(call) {
      const { endpoint, outcome, tokens: used } = call;
      const alias = call.alias ?? 'none';
      const reason = call.reason ?? 'none';
      add(
        calls,
        `${endpoint} ${alias} ${outcome} ${reason}`,
        () => ({ endpoint, alias, outcome, reason }),
        1,
      );
      if (outcome === 'REFUSED') return;
      const place = `${endpoint} ${alias}`;
      const labels = () => ({ endpoint, alias });
      observe(durations, place, labels, call.durationMs);
      if (call.firstByteMs !== null) observe(firstBytes, place, labels, call.firstByteMs);
      if (used === null) return;
      add(tokens, `${alias} prompt`, () => ({ alias, kind: 'prompt' }), used.promptTokens);
      add(tokens, `${alias} cached`, () => ({ alias, kind: 'cached' }), used.cachedTokens);
      add(tokens, `${alias} completion`, () => ({ alias, kind: 'completion' }), used.completionTokens);
    },
    countUnknown: (refusal) => add(unknown, refusal, () => ({ refusal }), 1),
    metrics: () => [
      counter('turnpike_calls_total', 'Calls of known keys, by how they ended.', calls),
      counter('turnpike_unknown_requests_total', 'Requests refused before a key was known.', unknown),
      counter(
        'turnpike_tokens_total',
        'Tokens that models used; cached ones are a part of the prompt.',
        tokens,
      ),
      histogram('turnpike_call_duration_seconds', 'From a call to its end.', durations),
      histogram('turnpike_first_byte_seconds', 'From a call to its model’s first answer.', firstBytes),
    ],
  };
}

/** Every call that the book is told of is counted, however it is written. */
export function withMeters(book: CallBook, meters: CallMeters): CallBook {
  return {
    ...book,
    settle(call) {
      meters.count(call);
      return book.settle(call);
    },
    note(call) {
      meters.count(call);
      book.note(call);
    },
  };
}

type Counters = Map<string, { readonly labels: Record<string, string>; value: number }>;

/** The labels are made once: this runs for every call. */
function add(counters: Counters, name: string, labels: () => Record<string, string>, amount: number): void {
  const known = counters.get(name);
  if (known === undefined) counters.set(name, { labels: labels(), value: amount });
  else known.value += amount;
}

function observe(
  histograms: Map<string, Histogram>,
  place: string,
  labels: () => Record<string, string>,
  ms: number,
): void {
  const known = histograms.get(place);
  const one = known ?? { labels: labels(), counts: new Array<number>(BOUNDS.length + 1).fill(0), sum: 0 };
  if (known === undefined) histograms.set(place, one);
  const seconds = ms / 1_000;
  const at = BOUNDS.findIndex((bound) => seconds <= bound);
  const bucket = at === -1 ? BOUNDS.length : at;
  one.counts[bucket] = (one.counts[bucket] ?? 0) + 1;
  one.sum += seconds;
}

function counter(name: string, help: string, counters: Counters): Metric {
  return { name, help, type: 'counter', samples: [...counters.values()] };
}

function histogram(name: string, help: string, histograms: Map<string, Histogram>): Metric {
  const samples = [...histograms.values()].flatMap(({ labels, counts, sum }) => {
    let count = 0;
    const buckets = counts.map((value, at): MetricSample => {
      count += value;
      return { suffix: '_bucket', labels: { ...labels, le: String(BOUNDS[at] ?? '+Inf') }, value: count };
    });
    return [
      ...buckets,
      { suffix: '_sum', labels, value: sum },
      { suffix: '_count', labels, value: count },
    ] as const;
  });
  return { name, help, type: 'histogram', samples };
}
