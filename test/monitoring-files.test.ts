import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Glob } from 'bun';
import { CLIENT_LEFT } from '../src/domain/model-calls/paid-call.ts';
import { refusalReason } from '../src/gateway/forwarding/end-call.ts';

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

  test('an audit that has never run alerts too: its metric is absent until then', () => {
    const old = rules.filter(({ alert }) => alert === 'TurnpikeAuditOld').map(({ expr }) => expr);
    expect(old).toContain('absent(turnpike_audit_checked_timestamp_seconds)');
  });

  test('calls that wait for the database and a hook that refuses all calls page: neither counts as failed', () => {
    const paging = rules.filter(({ labels }) => labels.severity === 'page').map(({ expr }) => expr);
    expect(paging).toContain('min_over_time(turnpike_journal_calls[5m]) > 0');
    expect(paging).toContain('turnpike_call_hook_open == 1');
    // Connections that cannot be accepted are no calls.
    expect(paging).toContain('sum by (instance, lack) (increase(turnpike_local_faults_total[5m])) > 0');
  });

  test('a worker that does not run pages, once: not beside a database that is down', () => {
    const down = rules.find(({ alert }) => alert === 'TurnpikeWorkerDown');
    expect(down?.labels.severity).toBe('page');
    expect(down?.expr).toBe('turnpike_worker_up == 0 unless on (instance) turnpike_database_up == 0');
  });

  test('no two rules have the same name and labels, which promtool refuses', () => {
    const names = rules.map(({ alert, labels }) =>
      JSON.stringify([alert, Object.entries(labels).toSorted()]),
    );
    expect(names).toEqual([...new Set(names)]);
  });

  test('a breaker that is half-open between tests pages: it is never open for five minutes on end', () => {
    const expr = rules.find(({ alert }) => alert === 'TurnpikeBreakerOpen')?.expr;
    expect(expr).toStartWith('turnpike_circuit_breaker_state > 0 and max_over_time(');
  });

  test('what clients cause does not page: a provider’s 400, its refusal of a company’s own key, an unreadable document', () => {
    const expr = rules.find(({ alert }) => alert === 'TurnpikeCallsFail')?.expr ?? '';
    const [, pattern = ''] = /outcome="FAILED",reason!~"([^"]+)"/.exec(expr) ?? [];
    const counts = (reason: string) => !new RegExp(`^(?:${pattern})$`).test(reason);
    const clients = [refusalReason({ name: 'invalidRequest' }), CLIENT_LEFT, 'unreadable-document'];
    expect([...clients, refusalReason({ name: 'providerKeyRefused' })].filter(counts)).toEqual([]);
    const providers = (['unavailable', 'providerRateLimited'] as const).map((name) =>
      refusalReason({ name }),
    );
    const others = [...providers, 'internal', 'busy', 'no-usage', 'upstream-idle'];
    expect(others.filter(counts)).toEqual(others);
  });

  test('every metric of the code is described in docs/monitoring.md', () => {
    const monitoring = read('docs/monitoring.md');
    expect([...knownMetrics()].filter((name) => !monitoring.includes(name))).toEqual([]);
  });
});
