import { resolve } from 'node:path';
import { formatJsonLine } from '../../adapters/log/console-lines.ts';

interface Ready {
  /**
   * The parts and their addresses, as `gateway http://127.0.0.1:8080/llm/v1, backend and console http://127.0.0.1:8081`;
   * the last is the file with the demo's log-ins and keys, if the database has that demo world.
   */
  readonly line: string;
  readonly nowMs: number;
  /** Whether log lines are text; otherwise they are JSON. */
  readonly isText: boolean;
  readonly isTerminal: boolean;
}

const BOLD = '\x1b[1m';
const DIM = '\x1b[2m';
const RESET = '\x1b[0m';

/**
 * What a process prints once all of its servers answer. If log lines are JSON, standard output contains only JSON;
 * scripts that wait for a line that begins with `ready` find it on standard error. In a terminal, a start screen shows
 * what to open and type.
 */
export function readyTexts(ready: Ready): { readonly output: string; readonly errors: string } {
  const plain = `ready: ${ready.line}\n`;
  if (!ready.isText) {
    const timestamp = new Date(ready.nowMs).toISOString();
    const entry = { timestamp, level: 'info', message: plain.trimEnd(), context: {} } as const;
    return { output: `${formatJsonLine(entry)}\n`, errors: plain };
  }
  return { output: `${plain}${ready.isTerminal ? startScreen(ready) : ''}`, errors: '' };
}

function startScreen({ line }: Ready): string {
  const gateway = /gateway (\S+?)(?:,|$)/.exec(line)?.[1];
  const console = /console (\S+?)(?:,|$)/.exec(line)?.[1];
  if (gateway === undefined || console === undefined) return '';
  const demoPath = /, demo world in (.+)$/.exec(line)?.[1];
  const demoFile = demoPath === undefined ? null : resolve(demoPath);
  const key = demoFile === null ? '<key>' : `$(node -p "require('${demoFile}').api_key")`;
  const steps: readonly (readonly [what: string, how: string])[] = [
    ['Open', `${console}${demoFile === null ? '' : `  with a log-in of ${demoFile}`}`],
    ...(demoFile === null
      ? [['First person', 'npm run turnpike -- create-super-admin you@example.com'] as const]
      : []),
    ['First call', `curl ${gateway}/models -H "Authorization: Bearer ${key}"`],
    ['API pages', `${gateway.replace(/\/llm\/v1$/, '')}/docs  ${console}/docs`],
    ['Commands', 'npm run turnpike -- help'],
    ['Stop', 'Ctrl-C: running calls finish first'],
  ];
  const lines = steps.map(([what, how]) => `  ${DIM}${what.padEnd(14)}${RESET}${how}`);
  return `\n  ${BOLD}Turnpike is running${RESET}\n\n${lines.join('\n')}\n\n`;
}
