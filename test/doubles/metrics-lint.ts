/** What `promtool check metrics` finds in a text for Prometheus; without it, what these rules of it find. */

interface Family {
  readonly type: string;
  readonly help: string;
  readonly series: { readonly name: string; readonly labels: readonly string[] }[];
}

const NOT_BASE_UNITS =
  /(^|_)(milliseconds|microseconds|nanoseconds|minutes|hours|days|weeks|kilobytes|megabytes|gigabytes|bits|s|ms|us|ns|sec|b|kb|mb|gb|tb|pb|m|h|d)(_|$)/;

export async function lintMetrics(text: string): Promise<readonly string[]> {
  const found = [...familiesOf(text)].flatMap(([name, family]) => findings(name, family));
  const promtool = Bun.which('promtool');
  if (promtool === null) return found;
  const checking = Bun.spawn([promtool, 'check', 'metrics'], { stdin: new Blob([text]), stderr: 'pipe' });
  const said = await new Response(checking.stderr).text();
  const exitCode = await checking.exited;
  return [
    ...found,
    ...said.split('\n').filter((line) => line !== ''),
    ...(exitCode === 0 ? [] : [`promtool: ${exitCode}`]),
  ];
}

function findings(name: string, { type, help, series }: Family): string[] {
  const labels = new Set(series.flatMap((one) => one.labels));
  const checks: [boolean, string][] = [
    [help === '', 'has no help text'],
    [type === '', 'has no type'],
    [type === 'counter' && !name.endsWith('_total'), 'is a counter and does not end in _total'],
    [type !== 'counter' && name.endsWith('_total'), 'is no counter and ends in _total'],
    [type !== 'histogram' && (/_bucket$/.test(name) || labels.has('le')), 'is no histogram'],
    [/_(count|sum|info)$/.test(name) && type !== 'gauge', 'has a reserved ending'],
    [type !== 'summary' && labels.has('quantile'), 'has a quantile label and is no summary'],
    [NOT_BASE_UNITS.test(name), 'has a unit that is no base unit'],
    [/_(counter|gauge|histogram|summary)(_|$)/.test(name), 'has its type in its name'],
    [/[A-Z:]/.test(name) || [...labels].some((label) => /[A-Z]/.test(label)), 'has capitals or a colon'],
    [series.length === 0, 'has no samples'],
  ];
  return checks.flatMap(([isWrong, what]) => (isWrong ? [`${name} ${what}`] : []));
}

function familiesOf(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  const seen = new Set<string>();
  let current: Family = { type: '', help: '', series: [] };
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const [, kind, named = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (kind !== undefined) {
      current = { ...(families.get(named) ?? { type: '', help: '', series: [] }) };
      families.set(named, Object.assign(current, kind === 'HELP' ? { help: rest } : { type: rest }));
      continue;
    }
    const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(\{.*\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined || !Number.isFinite(Number(value))) throw new Error(`no sample: ${line}`);
    if (seen.has(name + labels)) throw new Error(`twice: ${line}`);
    seen.add(name + labels);
    current.series.push({
      name,
      labels: [...labels.matchAll(/(?:^\{|",)(\w+)="/g)].map(([, one = '']) => one),
    });
  }
  return families;
}
