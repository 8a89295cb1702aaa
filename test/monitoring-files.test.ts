import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Glob } from 'bun';

const ROOT = join(import.meta.dir, '..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

/** Every metric that the code names. */
function knownMetrics(): Set<string> {
  const names = new Set<string>();
  for (const file of new Glob('src/**/*.ts').scanSync(ROOT)) {
    if (file.endsWith('.test.ts')) continue;
    for (const [, name = ''] of read(file).matchAll(
      /(?:name: |(?:gauge|counter|histogram)\(\s*)'((?:turnpike|process)_[a-z_]+)'/g,
    ))
      names.add(name);
  }
  return names;
}

function metricsIn(expression: string): string[] {
  const named = expression.match(/\b(?:turnpike|process)_[a-z_]+/g) ?? [];
  return named.map((name) => name.replace(/_(bucket|sum|count)$/, ''));
}

const rules = (Bun.YAML.parse(read('deploy/prometheus/alerts.yaml')) as AlertFile).groups.flatMap(
  (group) => group.rules,
);
interface AlertFile {
  readonly groups: readonly { readonly rules: readonly AlertRule[] }[];
}
interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}

describe('the files for Prometheus and Grafana', () => {
  test('alerts and dashboard ask for metrics that there are', () => {
    const known = knownMetrics();
    const panels = JSON.parse(read('deploy/grafana/turnpike.json')).panels as {
      targets: { expr: string }[];
    }[];
    const expressions = [
      ...rules.map(({ expr }) => expr),
      ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ];
    const asked = new Set(expressions.flatMap(metricsIn));
    expect(asked.size).toBeGreaterThan(12);
    expect([...asked].filter((name) => !known.has(name))).toEqual([]);
  });

  test('every alert says how urgent it is, and docs/operations.md what to do at it', () => {
    const operations = read('docs/operations.md');
    for (const { alert, labels, annotations } of rules) {
      expect(['page', 'ticket']).toContain(labels.severity);
      expect(annotations.summary.length).toBeGreaterThan(10);
      expect([alert, operations.includes(`\`${alert}\``)]).toEqual([alert, true]);
    }
  });

  test('every metric of the code is told in docs/monitoring.md', () => {
    const monitoring = read('docs/monitoring.md');
    expect([...knownMetrics()].filter((name) => !monitoring.includes(name))).toEqual([]);
  });
});
