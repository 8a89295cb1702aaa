/** One measurement of a metric, with its labels. */
export interface MetricSample {
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
  /** What follows the name: the parts of a histogram have one. */
  readonly suffix?: '_bucket' | '_sum' | '_count';
}

export interface Metric {
  /** As Prometheus has them: base units, `_total` for what only grows. */
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly samples: readonly MetricSample[];
}

export const METRICS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Prometheus' text. A metric without a sample is left out, and so is a value that is no number. */
export function metricsText(metrics: readonly Metric[]): string {
  const lines: string[] = [];
  for (const { name, help, type, samples } of metrics) {
    const told = samples.filter(({ value }) => Number.isFinite(value));
    if (told.length === 0) continue;
    lines.push(`# HELP ${name} ${escaped(help, false)}`, `# TYPE ${name} ${type}`);
    for (const { labels = {}, value, suffix = '' } of told) {
      const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text, true)}"`);
      lines.push(`${name}${suffix}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

function escaped(text: string, isLabel: boolean): string {
  const plain = text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
  return isLabel ? plain.replaceAll('"', '\\"') : plain;
}
