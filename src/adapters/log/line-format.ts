import type { LogContext, LogEntry, LogLevel } from '../../ports/log.ts';

/** One entry as text, without the line break at its end. */
export type LineFormat = (entry: LogEntry) => string;

const RESERVED = ['timestamp', 'level', 'message'];
const RESET = '\x1b[0m';
const DIM = '\x1b[2m';
const COLOURS: Record<LogLevel, string> = {
  debug: '\x1b[90m',
  info: '\x1b[32m',
  warn: '\x1b[33m',
  error: '\x1b[31m',
};

/** For programs: one JSON object a line, the context's fields beside the entry's own. */
export const formatJsonLine: LineFormat = ({ timestamp, level, message, context }) => {
  const fields = RESERVED.some((name) => name in context) ? renamed(context) : context;
  return JSON.stringify({ timestamp, level, message, ...fields });
};

/** A field must not pass for the entry's own level or message. */
function renamed(context: LogContext): LogContext {
  const entries = Object.entries(context);
  return Object.fromEntries(
    entries.map(([name, value]) => [RESERVED.includes(name) ? `context_${name}` : name, value]),
  );
}

/** For people: time (UTC), level, message, name=value on one line; the stack of an error on the lines below. */
export function createTerminalFormat({ colours }: { colours: boolean }): LineFormat {
  const paint = (colour: string, text: string) => (colours ? `${colour}${text}${RESET}` : text);
  return ({ timestamp, level, message, context }) => {
    const below: string[] = [];
    const fields = Object.entries(context).map(([name, value]) => {
      below.push(...stackLines(value));
      return ` ${paint(DIM, `${printable(name)}=`)}${readable(value)}`;
    });
    const time = paint(DIM, timestamp.slice(11, 23));
    const head = `${time} ${paint(COLOURS[level], level.toUpperCase().padEnd(5))} ${printable(message)}`;
    return [head + fields.join(''), ...below.map((line) => paint(DIM, `    ${line}`))].join('\n');
  };
}

function readable(value: unknown): string {
  if (isError(value)) return printable(JSON.stringify(`${value.name}: ${value.message}`));
  if (typeof value !== 'string') return printable(JSON.stringify(value) ?? 'undefined');
  return /^[^\s"'=]+$/.test(value) ? printable(value) : printable(JSON.stringify(value));
}

/** Without the first line, which repeats name and message. */
function stackLines(value: unknown): string[] {
  if (!isError(value)) return [];
  const frames = value.stack.split('\n').filter((line) => line.trimStart().startsWith('at '));
  const own = frames.map((line) => printable(line.trim()));
  const { cause } = value;
  return isError(cause)
    ? [...own, printable(`caused by ${cause.name}: ${cause.message}`), ...stackLines(cause)]
    : own;
}

interface ErrorFields {
  readonly name: string;
  readonly message: string;
  readonly stack: string;
  readonly cause?: unknown;
}

function isError(value: unknown): value is ErrorFields {
  return typeof value === 'object' && value !== null && 'stack' in value && typeof value.stack === 'string';
}

/** A text from outside must neither begin a line of its own, nor steer the terminal, nor turn its reading around. */
function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this is about.
  return text.replace(/[\0-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]/g, (character) =>
    character === '\n' ? '\\n' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
