import { SETTINGS, type SettingName } from './settings.ts';

/** The headings of docs/configuration.md, each in front of its first setting. */
const HEADINGS: Partial<Record<SettingName, string>> = {
  NODE_ENV: 'Processes',
  DATABASE_URL: 'PostgreSQL and the journal',
  IDEMPOTENT_ANSWER_MAX_BYTES: 'Stored content and retention',
  REDIS_URL: 'Redis',
  JWT_SECRET: 'Secrets',
  PAYMENT_PROVIDER_KEY: 'Payments, addresses and mail',
  OIDC_ISSUER: 'Sign-in and sign-up',
  DEMO_WORLD: 'Demo, credits and checkout',
  MODEL_CONFIG: 'Models',
  IP_REQUESTS_PER_MINUTE: 'Limits and streams',
  ALERT_PRIVATE_NETWORKS: 'Alerts and call hooks',
  UPSTREAM_PRIVATE_NETWORKS: 'Calls to providers',
  POSTPAID_CURRENCY: 'Monthly invoices',
  MAX_BODY_BYTES: 'Bounds of requests',
  OTEL_EXPORTER_OTLP_ENDPOINT: 'Traces and logs',
};

/** The whole of docs/configuration.md. */
export function settingsPage(): string {
  const names = Object.keys(SETTINGS) as SettingName[];
  const lines = names.flatMap((name) => {
    const heading = HEADINGS[name];
    const row = rowOf(name);
    return heading === undefined
      ? [row]
      : ['', `## ${heading}`, '', '| setting | default | meaning |', '|---|---|---|', row];
  });
  return `# Configuration

Settings are environment variables. Without any, \`npm start\` runs everything on embedded parts. An empty value counts
as not set. If settings are wrong, the process reports all problems at once and exits with a code that is not 0.

With \`NODE_ENV=production\` no secret is generated. Missing, weak, equal or example secrets, public addresses without
TLS, the demo world and the payment sandbox are refused.

This page is written by \`npm --silent run turnpike -- settings > docs/configuration.md\`, and a test compares it with
the code.
${lines.join('\n')}

## The runtime

\`BUN_CONFIG_MAX_HTTP_REQUESTS\` is a setting of the runtime. It must be at least 1024 before the gateway starts, or
more than 256 model calls at once would queue. The npm scripts and the container image set it.
`;
}

function rowOf(name: SettingName): string {
  const { fallback, meaning } = SETTINGS[name];
  const shown = fallback === null ? '' : fallback.includes(' ') ? fallback : `\`${fallback}\``;
  return `| \`${name}\` | ${shown} | ${meaning} |`;
}
