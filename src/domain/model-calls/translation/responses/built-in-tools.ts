import { isObject, type JsonObject } from '../../../../ports/json-object.ts';

export type BuiltInKind = 'local_shell' | 'shell' | 'apply_patch' | 'tool_search';

/** A tool that the Responses API defines and the client runs. In chat completions it is a function. */
interface BuiltInTool {
  /** The ids of its calls begin with it. */
  readonly idPrefix: string;
  /** Undefined if the request describes it. */
  readonly description?: string;
  readonly parameters?: JsonObject;
  /** The members of a call in the output; null if the arguments do not match the tool. */
  callOf(read: JsonObject): JsonObject | null;
  /** The reverse, for a call in the input; null if the item lacks them. */
  argumentsOf(item: JsonObject): JsonObject | null;
}

const SHELL_PARAMETERS = {
  type: 'object',
  properties: {
    commands: {
      type: 'array',
      items: { type: 'string' },
      description: 'Command lines. They run at the same time, each in a shell of its own.',
    },
    timeout_ms: { type: 'integer', description: 'Maximum time per command, in milliseconds.' },
    max_output_length: { type: 'integer', description: 'Maximum characters of output per command.' },
  },
  required: ['commands'],
};

const LOCAL_SHELL_PARAMETERS = {
  type: 'object',
  properties: {
    command: { type: 'array', items: { type: 'string' }, description: 'The program and its arguments.' },
    working_directory: { type: 'string' },
    timeout_ms: { type: 'integer' },
    env: { type: 'object', additionalProperties: { type: 'string' } },
  },
  required: ['command'],
};

/** Models of OpenAI know the format; others need its rules. */
const DIFF_DESCRIPTION = `The new content or the change, in the V4A format; not for delete_file.
For create_file each line of the file begins with +.
For update_file each change begins with a line @@, which may name the class or function that contains it (@@ def main():).
The lines after it begin with a blank (unchanged), - (removed) or + (added). Repeat three unchanged lines before and after
the change, exactly as they are in the file. There are no line numbers.`;

const APPLY_PATCH_PARAMETERS = {
  type: 'object',
  properties: {
    type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
    path: { type: 'string', description: 'The path of the file, relative to the workspace.' },
    diff: { type: 'string', description: DIFF_DESCRIPTION },
  },
  required: ['type', 'path'],
};

export const BUILT_IN_TOOLS: Readonly<Record<BuiltInKind, BuiltInTool>> = {
  local_shell: {
    idPrefix: 'lsh',
    description: 'Runs a command on the local machine and returns its output.',
    parameters: LOCAL_SHELL_PARAMETERS,
    callOf({ command, working_directory = null, timeout_ms = null, env = {} }) {
      if (!Array.isArray(command)) return null;
      const action = { type: 'exec', command, working_directory, timeout_ms, env };
      return { type: 'local_shell_call', action };
    },
    argumentsOf: ({ action }) => (isObject(action) ? { ...action, type: undefined } : null),
  },
  shell: {
    idPrefix: 'sh',
    description: 'Runs commands in the shell of the local machine and returns their output.',
    parameters: SHELL_PARAMETERS,
    callOf({ commands: given, timeout_ms = null, max_output_length = null }) {
      const commands = typeof given === 'string' ? [given] : given;
      if (!Array.isArray(commands)) return null;
      const action = { commands, timeout_ms, max_output_length };
      return { type: 'shell_call', action, environment: { type: 'local' } };
    },
    argumentsOf: ({ action }) => (isObject(action) ? action : null),
  },
  apply_patch: {
    idPrefix: 'apc',
    description: 'Creates, updates or deletes one file.',
    parameters: APPLY_PATCH_PARAMETERS,
    callOf({ type, path, diff }) {
      if (typeof path !== 'string') return null;
      if (type === 'delete_file') return { type: 'apply_patch_call', operation: { type, path } };
      const isKnown = type === 'create_file' || type === 'update_file';
      return isKnown && typeof diff === 'string'
        ? { type: 'apply_patch_call', operation: { type, path, diff } }
        : null;
    },
    argumentsOf: ({ operation }) => (isObject(operation) ? operation : null),
  },
  tool_search: {
    idPrefix: 'tsc',
    callOf: (read) => ({ type: 'tool_search_call', execution: 'client', arguments: read }),
    argumentsOf: ({ arguments: given }) => (isObject(given) ? given : {}),
  },
};

/** The output of a shell call as text; null if it is not a list of results. */
export function shellOutput(output: unknown): string | null {
  if (!Array.isArray(output) || !output.every(isObject)) return null;
  const results = output.map(({ stdout, stderr, outcome }) => {
    const { type, exit_code: code } = isObject(outcome) ? outcome : ({} as JsonObject);
    const parts = [
      typeof stdout === 'string' ? stdout : '',
      typeof stderr === 'string' && stderr !== '' ? `stderr:\n${stderr}` : '',
      type === 'timeout' ? 'The command timed out.' : '',
      type === 'exit' && code !== 0 ? `The command ended with exit code ${code}.` : '',
    ];
    return parts.filter((part) => part !== '').join('\n');
  });
  return results.join('\n\n');
}

/** The output of an apply_patch call as text. */
export function patchOutput({ status, output }: JsonObject): string {
  const text = typeof output === 'string' ? output : '';
  if (status === 'failed') return `Error: ${text === '' ? 'The patch was not applied.' : text}`;
  return text === '' ? 'The patch was applied.' : text;
}
