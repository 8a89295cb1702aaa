import { readFile, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { parseArgs } from 'node:util';
import { testTarget } from '../domain/model-calls/test-target.ts';
import { ALIAS_NAMES, aliasOf, DEFAULT_BOUNDS } from '../domain/models/aliases.ts';
import { ANY_PROVIDER_ID, setAliasTools, type WantedTools } from '../domain/models/hosted-tools.ts';
import {
  DEFAULT_PROVIDER,
  PROVIDER_NAMES,
  PROVIDER_PRESETS,
  providerPreset,
  wireOf,
} from '../domain/models/providers.ts';
import { providerFacts, type WantedTarget } from '../domain/models/target.ts';
import {
  addAliasTarget,
  type CatalogueParts,
  checkTargets,
  setAliasTargets,
} from '../domain/models/targets.ts';
import {
  type Command,
  type CommandContext,
  complainOfUsage,
  EXIT_FAILED,
  EXIT_OK,
  EXIT_USAGE,
  type OpenedSystem,
  printJson,
  takeJson,
} from './command.ts';

export const providersCommand: Command = {
  name: 'providers',
  usage: '[--json]',
  summary: 'The presets of providers that set-alias knows, with their addresses.',
  works: 'alone',
  async run({ terminal }, given) {
    const { isJson, words } = takeJson(given);
    if (words.length > 0) return complainOfUsage(terminal, providersCommand);
    if (isJson) return printJson(terminal, PROVIDER_PRESETS);
    for (const { name, title, baseUrl, endpoints, note } of PROVIDER_PRESETS) {
      terminal.print(`${name.padEnd(11)} ${title}, ${baseUrl ?? 'at an address of your own'}`);
      terminal.print(`${' '.repeat(12)}serves ${endpoints.join(', ')}. ${note}`);
    }
    return EXIT_OK;
  },
};

const SET_ALIAS_USAGE = `ALIAS --provider NAME --model MODEL [--url BASE_URL] [--key-file /PATH] [--api-version V]
    [--header NAME=VALUE]… [--responses on|off] [--weight N] [--add] [--no-test]
  or: turnpike set-alias ALIAS BASE_URL MODEL [--key-file /PATH] [--weight N] [--add]
  or: turnpike set-alias ALIAS --embedded
  or: turnpike set-alias ALIAS [--tool NAME=CREDITS]… [--no-tools] [--max-tool-uses N] [--provider-id ID]… [--no-provider-ids]
  NAME is one of ${PROVIDER_NAMES}; turnpike providers describes them.
  With --provider one test call is made, and nothing is saved where it fails; --no-test saves without it.`;

/** The provider's key comes from a file: on a command line every process of the machine could read it. */
export const setAliasCommand: Command = {
  name: 'set-alias',
  usage: 'ALIAS --provider NAME --model MODEL …',
  summary: 'Puts a provider behind a model alias, within a second. Without arguments it lists its options.',
  works: 'on-the-database',
  async run(system, words) {
    const { terminal } = system;
    const change = readAliasChange(words);
    if (change === null) return complainOfUsage(terminal, setAliasCommand, SET_ALIAS_USAGE);
    if (typeof change === 'object' && 'tools' in change) return await setTools(system, change);
    if (typeof change === 'string') {
      terminal.complain(change);
      return EXIT_USAGE;
    }
    const key = await readKey(change.keyFile);
    if (key.outcome === 'failed') {
      terminal.complain(key.problem);
      return EXIT_FAILED;
    }
    const target = change.target === null ? null : { ...change.target, apiKey: key.apiKey };
    if (target !== null && change.isTested && !(await isAnswering(system, change.alias, target))) {
      terminal.complain('Nothing was saved. Mend it and run the command again, or save it with --no-test.');
      return EXIT_FAILED;
    }
    const { database, sharedState, secrets, aliasPrefix: prefix } = system;
    const parts: CatalogueParts = { database, sharedState, secrets, prefix, cipher: await system.cipher() };
    const changed =
      change.isAdded && target !== null
        ? await addAliasTarget(parts, change.alias, target)
        : await setAliasTargets(parts, change.alias, target === null ? [] : [target]);
    if (changed.outcome !== 'changed') {
      terminal.complain(changed.problem);
      return EXIT_FAILED;
    }
    terminal.print(`${change.alias} ${change.isAdded ? 'has one more target' : 'is changed'}`);
    return EXIT_OK;
  },
};

interface ToolChange {
  readonly alias: string;
  readonly tools: WantedTools;
}

/** All tools that are named, and no others; what is not named of the rest stays. */
async function setTools(
  { terminal, database, sharedState, aliasPrefix: prefix }: CommandContext & OpenedSystem,
  { alias, tools }: ToolChange,
): Promise<number> {
  const set = await setAliasTools({ database, sharedState, prefix }, alias, tools);
  if (set.outcome === 'unknown-alias' || set.outcome === 'wrong-tools') {
    terminal.complain(set.problem);
    return EXIT_FAILED;
  }
  terminal.print(set.outcome === 'changed' ? `${alias} is changed` : `${alias} is as it was`);
  if (tools.providerIds?.includes(ANY_PROVIDER_ID) === true) terminal.complain(ANY_ID_WARNING);
  return EXIT_OK;
}

const ANY_ID_WARNING =
  'Every company that may call this alias can now name whatever is stored in your account at its providers. Use it only for an alias that one company calls.';

type AliasOptions = NonNullable<ReturnType<typeof parseAliasOptions>>['values'];

/** Null where no option is about tools; a sentence where one is wrong. */
function readToolChange(alias: string, values: AliasOptions): ToolChange | string | null {
  const { tool, 'no-tools': noTools, 'max-tool-uses': most } = values;
  const { 'provider-id': ids, 'no-provider-ids': noIds } = values;
  if ([tool, noTools, most, ids, noIds].every((one) => one === undefined)) return null;
  const named = (tool ?? []).map((one) => /^([^=]+)=(.+)$/.exec(one));
  if (named.some((match) => match === null)) return '--tool is written NAME=CREDITS, for one use';
  const prices = Object.fromEntries(named.map((match) => [match?.[1] ?? '', match?.[2] ?? '']));
  return {
    alias,
    tools: {
      tools: tool === undefined && noTools !== true ? undefined : prices,
      maxUses: most === undefined ? undefined : Number(most),
      providerIds: noIds === true ? [] : ids,
    },
  };
}

/** One small call; its result is printed. */
async function isAnswering(
  system: CommandContext & OpenedSystem,
  alias: string,
  wanted: WantedTarget,
): Promise<boolean> {
  const { terminal, clock, aliasPrefix } = system;
  const kind = ALIAS_NAMES.find(({ name }) => aliasOf(aliasPrefix, name) === alias)?.kind;
  const checked = checkTargets([wanted]);
  // The change itself refuses both, and says why.
  if (kind === undefined || checked.outcome === 'wrong' || system.providers === undefined) return true;
  const [target] = checked.targets;
  if (target === undefined) return true;
  const { baseUrl, model, apiKey } = target;
  const wire = wireOf({ ...providerFacts(target), baseUrl }, DEFAULT_BOUNDS[kind].maxOutputTokens);
  const upstream = await system.providers();
  try {
    const tried = { id: 'test', baseUrl, model, apiKey, ...(wire === null ? {} : { wire }) };
    const { ok, latencyMs, message } = await testTarget({ upstream, clock }, tried, kind);
    const line = `Test call to ${baseUrl}: ${message} (${latencyMs} ms)`;
    if (ok) terminal.print(line);
    else terminal.complain(line);
    return ok;
  } finally {
    upstream.close();
  }
}

interface AliasChange {
  readonly alias: string;
  /** Null is the embedded models. */
  readonly target: WantedTarget | null;
  readonly keyFile: string | null;
  readonly isAdded: boolean;
  readonly isTested: boolean;
}

/** Null where it cannot be read at all; a sentence where one of the options is wrong. */
function readAliasChange(words: readonly string[]): AliasChange | ToolChange | string | null {
  const typed = parseAliasOptions(words);
  if (typed === null) return null;
  const { values, positionals } = typed;
  const [alias, ...rest] = positionals;
  const keyFile = values['key-file'] ?? null;
  if (alias === undefined) return null;
  const toolChange = readToolChange(alias, values);
  if (toolChange !== null) {
    const isAlone = rest.length === 0 && values.provider === undefined && values.embedded !== true;
    return isAlone ? toolChange : 'Set tools in a command of their own, without a provider.';
  }
  if (values.embedded === true) {
    const isAlone = rest.length === 0 && words.length === 2;
    return isAlone ? { alias, target: null, keyFile, isAdded: false, isTested: false } : null;
  }
  const isByProvider = values.provider !== undefined;
  if (isByProvider ? rest.length > 0 || values.model === undefined : rest.length !== 2) return null;
  const provider = values.provider ?? DEFAULT_PROVIDER;
  const known = providerPreset(provider);
  if (known === null) return `There is no provider ${provider}. Use one of ${PROVIDER_NAMES}.`;
  const baseUrl = rest[0] ?? values.url ?? known.baseUrl;
  if (baseUrl === null) return `${known.title} has no address of its own: give it with --url.`;
  if (known.needsKey && isByProvider && keyFile === null) {
    return `${known.title} needs a key: write it to a file and give it with --key-file /PATH.`;
  }
  const headers = headersIn(values.header ?? []);
  if (headers === null) return '--header is written NAME=VALUE';
  const responses = responsesIn(values.responses);
  if (responses === undefined) return '--responses is on or off';
  const target: WantedTarget = {
    ...{ baseUrl, provider, headers, responses, apiKey: null },
    model: rest[1] ?? values.model ?? '',
    weight: Number(values.weight ?? '1'),
    apiVersion: values['api-version'] ?? null,
  };
  const isTested = isByProvider && values['no-test'] !== true;
  return { alias, target, keyFile, isAdded: values.add === true, isTested };
}

function headersIn(given: readonly string[]): Readonly<Record<string, string>> | null {
  const headers: Record<string, string> = {};
  for (const one of given) {
    const equals = one.indexOf('=');
    if (equals < 1) return null;
    headers[one.slice(0, equals)] = one.slice(equals + 1);
  }
  return headers;
}

/** Null keeps to the preset; undefined is no answer. */
function responsesIn(given: string | undefined): boolean | null | undefined {
  if (given === undefined) return null;
  return given === 'on' ? true : given === 'off' ? false : undefined;
}

function parseAliasOptions(words: readonly string[]) {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean' } as const;
  const options = {
    provider: text,
    model: text,
    url: text,
    'key-file': text,
    'api-version': text,
    header: { type: 'string', multiple: true },
    responses: text,
    weight: text,
    add: flag,
    embedded: flag,
    'no-test': flag,
    tool: { type: 'string', multiple: true },
    'no-tools': flag,
    'max-tool-uses': text,
    'provider-id': { type: 'string', multiple: true },
    'no-provider-ids': flag,
  } as const;
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true });
  } catch {
    return null;
  }
}

type KeyRead =
  | { readonly outcome: 'read'; readonly apiKey: string | null }
  | { readonly outcome: 'failed'; readonly problem: string };

const LARGEST_KEY_FILE = 8_192;

/** Read where the command runs, which may be a service in another folder and under another user. */
async function readKey(path: string | null): Promise<KeyRead> {
  if (path === null) return { outcome: 'read', apiKey: null };
  const failed = (problem: string): KeyRead => ({ outcome: 'failed', problem: `--key-file: ${problem}` });
  if (!isAbsolute(path)) return failed(`${path} must begin with /`);
  try {
    if ((await stat(path)).size > LARGEST_KEY_FILE) return failed(`${path} is too large for a key`);
    const apiKey = (await readFile(path, 'utf8')).trim();
    return apiKey === '' ? failed(`${path} is empty`) : { outcome: 'read', apiKey };
  } catch {
    return failed(`${path} cannot be read by the user that runs the database's process`);
  }
}
