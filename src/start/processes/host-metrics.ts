/**
 * The metrics of all processes that one command started, whichever of them is scraped. The parent has its own figures
 * and asks each child for theirs; a child that is scraped asks its parent. Counters are summed, and those of a process
 * that has ended are kept, so that the sums never fall while the parent runs. Each child reports its counters every two
 * seconds and once more before it ends; if it is killed, the counts since its last report are lost.
 */
import { z } from 'zod';
import type { Counter, Metric, MetricSample, MetricSource } from '../../http/metrics.ts';
import type { Clock } from '../../ports/clock.ts';

const REPORT_EVERY_MS = 2_000;
/** A child that does not answer in time is included with its last counters and without gauges. */
const CHILD_TIMEOUT_MS = 1_000;
/** Longer than the limit of a child, so that the parent answers even if one of its children hangs. */
const PARENT_TIMEOUT_MS = 3_000;
/** Gauges that take longer are omitted. Below the limits above, so that a process answers in time with the others. */
const GAUGES_TIMEOUT_MS = { parent: 2_500, child: 800 };
const LAST_REPORT_TIMEOUT_MS = 1_000;

export interface HostMetrics {
  add(source: MetricSource): void;
  /** Rejects in a child whose parent does not answer. */
  collect(): Promise<readonly Metric[]>;
  /** In the parent: handles a message of a child. `send` identifies the child. */
  receive(received: unknown, send: Send): void;
  ended(send: Send): void;
  /** Sends the last counters to the parent. */
  close(): Promise<void>;
}

type Send = (what: unknown) => void;

/** The channel to the parent of this process. */
interface ToParent {
  readonly send: Send;
  onMessage(listener: (received: unknown) => void): void;
}

const metricList = z.array(z.custom<Metric>((value) => typeof value === 'object' && value !== null));
const messageForm = z.discriminatedUnion('metrics', [
  /** Child to parent: its counters, sent regularly. */
  z.strictObject({ metrics: z.literal('counted'), counters: metricList }),
  /** Child to parent: its last counters; the child waits for `heard`. */
  z.strictObject({ metrics: z.literal('ending'), counters: metricList }),
  z.strictObject({ metrics: z.literal('heard') }),
  /** Parent to child, and the answer. */
  z.strictObject({ metrics: z.literal('report'), id: z.number() }),
  z.strictObject({
    metrics: z.literal('reported'),
    id: z.number(),
    counters: metricList,
    gauges: metricList,
  }),
  /** Child to parent, and the answer: the metrics of all processes. */
  z.strictObject({ metrics: z.literal('collect'), id: z.number() }),
  z.strictObject({ metrics: z.literal('collected'), id: z.number(), all: metricList }),
]);
type Message = z.output<typeof messageForm>;

interface Figures {
  readonly counters: readonly Metric[];
  readonly gauges: readonly Metric[];
}

export function createHostMetrics({
  clock,
  parent,
}: {
  clock: Pick<Clock, 'after'>;
  parent: ToParent | null;
}): HostMetrics {
  const sources: MetricSource[] = [];
  /** The last counters of each child. */
  const children = new Map<Send, readonly Metric[]>();
  const answers = createAnswers(clock);
  const neverFalling = createFloor();
  let shareOfEnded: readonly Metric[] = [];
  let onAcknowledged = () => {};
  let isClosed = false;

  const ownCounters = (): readonly Counter[] => sources.flatMap((source) => source.counters?.() ?? []);

  async function ownFigures(): Promise<Figures> {
    const gauges = await Promise.all(sources.map(gaugesIn));
    return { counters: ownCounters(), gauges: gauges.flat() };
  }

  /** None if they cannot be read, as without a database: the other figures are needed then most of all. */
  async function gaugesIn(source: MetricSource): Promise<readonly Metric[]> {
    const limitMs = GAUGES_TIMEOUT_MS[parent === null ? 'parent' : 'child'];
    const late = Promise.withResolvers<readonly Metric[]>();
    const timer = clock.after(limitMs, () => late.resolve([]));
    const read = (async () => (await source.gauges?.()) ?? [])().catch(() => []);
    return await Promise.race([read, late.promise]).finally(() => timer.cancel());
  }

  /** The counters in the answer are stored when it arrives. */
  async function gaugesOf(send: Send): Promise<readonly Metric[]> {
    const answered = answers.ask<Figures>((id) => send({ metrics: 'report', id }), CHILD_TIMEOUT_MS);
    return await answered.then(({ gauges }) => gauges).catch(() => []);
  }

  /**
   * In the parent. Counters are read in one step after all children have answered, so that a child that ends in the
   * meantime is counted once.
   */
  async function collectHost(): Promise<readonly Metric[]> {
    const [own, ...gauges] = await Promise.all([ownFigures(), ...[...children.keys()].map(gaugesOf)]);
    const counters = mergeMetrics([ownCounters(), shareOfEnded, ...children.values()]);
    return [...neverFalling(counters), ...mergeMetrics([own.gauges, ...gauges])];
  }

  function receiveFromChild(message: Message, send: Send): void {
    if (message.metrics === 'counted' || message.metrics === 'ending' || message.metrics === 'reported') {
      children.set(send, message.counters);
    }
    if (message.metrics === 'ending') send({ metrics: 'heard' });
    if (message.metrics === 'reported') answers.resolve(message.id, message);
    if (message.metrics === 'collect') {
      const { id } = message;
      collectHost().then(
        (all) => send({ metrics: 'collected', id, all }),
        // The child gets no answer and reports that itself.
        () => {},
      );
    }
  }

  function receiveFromParent(message: Message, { send }: ToParent): void {
    if (message.metrics === 'heard') onAcknowledged();
    if (message.metrics === 'collected') answers.resolve(message.id, message.all);
    if (message.metrics === 'report') {
      const { id } = message;
      void ownFigures().then((figures) => send({ metrics: 'reported', id, ...figures }));
    }
  }

  function reportRegularly({ send }: ToParent): void {
    if (isClosed) return;
    send({ metrics: 'counted', counters: ownCounters() });
    clock.after(REPORT_EVERY_MS, () => reportRegularly({ send, onMessage() {} }));
  }

  if (parent !== null) {
    parent.onMessage((received) => {
      const message = messageForm.safeParse(received);
      if (message.success) receiveFromParent(message.data, parent);
    });
    reportRegularly(parent);
  }

  return {
    add: (source) => void sources.push(source),
    async collect() {
      if (parent === null) return await collectHost();
      const { send } = parent;
      return await answers.ask<readonly Metric[]>(
        (id) => send({ metrics: 'collect', id }),
        PARENT_TIMEOUT_MS,
      );
    },
    receive(received, send) {
      const message = messageForm.safeParse(received);
      if (message.success) receiveFromChild(message.data, send);
    },
    ended(send) {
      shareOfEnded = mergeMetrics([shareOfEnded, children.get(send) ?? []]);
      children.delete(send);
    },
    async close() {
      isClosed = true;
      if (parent === null) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      onAcknowledged = resolve;
      const timer = clock.after(LAST_REPORT_TIMEOUT_MS, resolve);
      parent.send({ metrics: 'ending', counters: ownCounters() });
      await promise;
      timer.cancel();
    },
  };
}

/** The parent of this process, over the IPC channel. */
export function toParentProcess(): ToParent {
  return {
    send: (what) => void process.send?.(what),
    onMessage: (listener) => void process.on('message', listener),
  };
}

function createAnswers(clock: Pick<Clock, 'after'>) {
  const waiting = new Map<number, (answer: unknown) => void>();
  let lastId = 0;
  return {
    async ask<Answer>(send: (id: number) => void, timeoutMs: number): Promise<Answer> {
      lastId += 1;
      const id = lastId;
      const { promise, resolve, reject } = Promise.withResolvers<unknown>();
      const timer = clock.after(timeoutMs, () => reject(new Error('a process did not answer in time')));
      waiting.set(id, resolve);
      try {
        send(id);
        return (await promise) as Answer;
      } finally {
        waiting.delete(id);
        timer.cancel();
      }
    },
    resolve: (id: number, answer: unknown) => waiting.get(id)?.(answer),
  };
}

/** Merges the metrics of several processes into one list. */
export function mergeMetrics(lists: readonly (readonly Metric[])[]): readonly Metric[] {
  const merged = new Map<string, { metric: Metric; samples: Map<string, MetricSample> }>();
  for (const metric of lists.flat()) {
    const known = merged.get(metric.name) ?? { metric, samples: new Map<string, MetricSample>() };
    merged.set(metric.name, known);
    const merge = 'merge' in metric ? metric.merge : 'sum';
    for (const sample of metric.samples) {
      if (!Number.isFinite(sample.value)) continue;
      const name = nameOf(sample);
      const before = known.samples.get(name);
      const value = before === undefined ? sample.value : MERGED[merge](before.value, sample.value);
      known.samples.set(name, { ...sample, value });
    }
  }
  return [...merged.values()].map(({ metric, samples }) => ({ ...metric, samples: [...samples.values()] }));
}

/** Fractions that are added in another order may yield a slightly smaller sum, which Prometheus would take for a restart. */
function createFloor(): (counters: readonly Metric[]) => readonly Metric[] {
  const highest = new Map<string, number>();
  return (counters) =>
    counters.map((metric) => {
      const samples = metric.samples.map((sample) => {
        const name = `${metric.name} ${nameOf(sample)}`;
        const value = Math.max(sample.value, highest.get(name) ?? 0);
        highest.set(name, value);
        return { ...sample, value };
      });
      return { ...metric, samples };
    });
}

function nameOf({ suffix, labels = {} }: MetricSample): string {
  return `${suffix ?? ''} ${JSON.stringify(Object.entries(labels).toSorted())}`;
}

const MERGED = {
  sum: (one: number, other: number) => one + other,
  max: Math.max,
  min: Math.min,
} as const;
