import { describe, expect, test } from 'bun:test';
import { createManualClock, type ManualClock } from '../../../test/doubles/manual-clock.ts';
import { lintMetrics } from '../../../test/doubles/metrics-lint.ts';
import type { DependencyState } from '../../http/health.ts';
import { databaseMetric, gauge, type Metric, metricsText } from '../../http/metrics.ts';
import { createHostMetrics, type HostMetrics, mergeMetrics } from './host-metrics.ts';

const counted = (value: number) => ({
  ...({ name: 'calls_total', help: 'Calls.', type: 'counter' } as const),
  samples: [{ labels: { alias: 'a' }, value }],
});

/** A child of `parent`, on channels that deliver at once. */
function addChild(parent: HostMetrics, clock: ManualClock, counts: { calls: number }) {
  let listener: (received: unknown) => void = () => {};
  let hangs = false;
  const toChild = (what: unknown) => void (hangs || listener(structuredClone(what)));
  const child = createHostMetrics({
    clock,
    parent: {
      send: (what) => void (hangs || parent.receive(structuredClone(what), toChild)),
      onMessage(handler) {
        listener = handler;
      },
    },
  });
  child.add({
    counters: () => [counted(counts.calls)],
    gauges: () => [gauge('memory_bytes', 'Memory.', 'sum', [{ value: 10 }])],
  });
  return {
    child,
    hang: () => {
      hangs = true;
    },
    end: () => parent.ended(toChild),
  };
}

function figureOf(metrics: readonly Metric[], name: string): number | undefined {
  return metrics.find((metric) => metric.name === name)?.samples[0]?.value;
}

describe('the metrics of a host', () => {
  const clock = createManualClock();
  const parent = createHostMetrics({ clock, parent: null });
  parent.add({ gauges: () => [gauge('memory_bytes', 'Memory.', 'sum', [{ value: 1 }])] });
  const [ofOne, ofOther] = [{ calls: 3 }, { calls: 4 }];
  const one = addChild(parent, clock, ofOne);
  const other = addChild(parent, clock, ofOther);

  test('a process that ends keeps the counters of its last report, and no gauge', async () => {
    ofOne.calls = 8;
    await one.child.close();
    one.end();
    const metrics = await other.child.collect();
    expect([figureOf(metrics, 'calls_total'), figureOf(metrics, 'memory_bytes')]).toEqual([12, 11]);
  });

  test('a process that hangs is shown with its last counters within a second, and stays counted when it is killed', async () => {
    const [hanging, counts] = [{ calls: 5 }, () => parent.collect()];
    const hung = addChild(parent, clock, hanging);
    await clock.advance(2_000);
    hung.hang();
    const collecting = counts();
    await clock.advance(1_000);
    expect(figureOf(await collecting, 'calls_total')).toBe(17);
    hung.end();
    expect(figureOf(await counts(), 'calls_total')).toBe(17);
    const late = hung.child.collect();
    late.catch(() => {});
    await clock.advance(3_000);
    // A part of the host would look like a restart of all that is missing.
    expect(late).rejects.toThrow('did not answer in time');
  });

  test('gauges that cannot be read, or not in time, are missing, and all other figures are there', async () => {
    const own = createHostMetrics({ clock, parent: null });
    const { child } = addChild(own, clock, { calls: 2 });
    own.add({ counters: () => [counted(1)], gauges: () => Promise.reject(new Error('no database')) });
    own.add({ gauges: () => [gauge('room', 'Room.', 'min', [{ value: 0 }])] });
    const figures = (metrics: readonly Metric[]) =>
      ['calls_total', 'room', 'memory_bytes'].map((name) => figureOf(metrics, name));
    expect(figures(await own.collect())).toEqual([3, 0, 10]);
    own.add({ gauges: () => new Promise(() => {}) });
    child.add({ gauges: () => new Promise(() => {}) });
    for (const process of [own, child]) {
      const collecting = process.collect();
      await clock.advance(800);
      await clock.advance(1_700);
      expect(figures(await collecting)).toEqual([3, 0, 10]);
    }
  });

  test('whether the database can be used is known without waiting for a check that hangs', async () => {
    let check = Promise.resolve({ database: { status: 'up', latencyMs: 1 } as DependencyState });
    const { gauges } = databaseMetric(() => check);
    const value = async () => figureOf((await gauges?.()) ?? [], 'turnpike_database_up');
    expect(await value()).toBe(1);
    const hanging = Promise.withResolvers<Awaited<typeof check>>();
    check = hanging.promise;
    expect(await value()).toBe(1);
    hanging.resolve({ database: { status: 'down', latencyMs: 2_000 } });
    await hanging.promise;
    await value();
    expect(await value()).toBe(0);
    check = Promise.resolve({ database: { status: 'degraded', latencyMs: 1 } });
    await value();
    expect(await value()).toBe(0);
  });

  test('sums of fractions never decrease because of the order of addition', async () => {
    const own = createHostMetrics({ clock, parent: null });
    const shares = [0.1, 0.7, 0.2].map((calls) => addChild(own, clock, { calls }));
    const shown: number[] = [];
    for (const { end } of [{ end() {} }, ...shares.toReversed()]) {
      end();
      shown.push(figureOf(await own.collect(), 'calls_total') ?? 0);
    }
    expect(shown).toEqual(shown.toSorted((a, b) => a - b));
  });

  test('gauges are added, or the largest or smallest is shown; buckets are added by their labels', async () => {
    const figures = (value: number): readonly Metric[] => [
      gauge('pairs', 'Sum.', 'sum', [{ value }]),
      gauge('delay_seconds', 'Largest.', 'max', [{ value }]),
      gauge('room', 'Smallest.', 'min', [{ value }]),
      {
        ...({ name: 'took_seconds', help: 'Took.', type: 'histogram' } as const),
        samples: [
          { suffix: '_bucket', labels: { le: '1' }, value },
          { suffix: '_bucket', labels: { le: '+Inf' }, value: value + 1 },
          { suffix: '_sum', value: 2 * value },
          { suffix: '_count', value: value + 1 },
        ],
      },
      {
        ...({ name: 'machine_total', help: 'Shared.', type: 'counter', merge: 'max' } as const),
        samples: [{ value }],
      },
    ];
    const text = metricsText(mergeMetrics([figures(1), figures(4), figures(2)]));
    expect(text.split('\n').filter((line) => !line.startsWith('#'))).toEqual([
      ...['pairs 7', 'delay_seconds 4', 'room 1'],
      ...['took_seconds_bucket{le="1"} 7', 'took_seconds_bucket{le="+Inf"} 10'],
      ...['took_seconds_sum 14', 'took_seconds_count 10', 'machine_total 4', ''],
    ]);
    expect(await lintMetrics(text)).toEqual([]);
  });
});
