import { SETTINGS } from './settings.ts';

/** docs/configuration.md, whole. */
export function settingsPage(): string {
  const rows = Object.entries(SETTINGS).map(([name, { fallback, meaning }]) => {
    const shown = fallback === null ? '' : fallback.includes(' ') ? fallback : `\`${fallback}\``;
    return `| \`${name}\` | ${shown} | ${meaning} |`;
  });
  return `# Configuration

Settings are environment variables. Without any, everything runs in one process on embedded parts. A process
that cannot start with what it finds names every problem at once and ends with a code that is not 0. An empty
value counts as not set. Under \`NODE_ENV=production\` nothing is made up: missing or weak secrets, the demo
world and the payment sandbox are refused.

This page is written by \`npm --silent run turnpike -- settings > docs/configuration.md\`, and a test holds it
against the code.

| setting | default | meaning |
|---|---|---|
${rows.join('\n')}

\`BUN_CONFIG_MAX_HTTP_REQUESTS\` is the runtime's own: the gateway needs at least 1024 of it before the process
starts, or model calls past 256 at once would queue. The npm scripts and the container image set it.
`;
}
