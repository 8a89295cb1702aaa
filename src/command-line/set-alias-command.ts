import { readFile, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { testTarget } from '../domain/model-calls/test-target.ts';
import { ALIAS_KINDS, findAlias } from '../domain/models/alias-catalogue.ts';
import { type AliasKind, DEFAULT_BOUNDS } from '../domain/models/aliases.ts';
import { createAlias, updateAlias } from '../domain/models/change-alias.ts';
import { ANY_PROVIDER_ID, setAliasTools } from '../domain/models/hosted-tools.ts';
import {
  isStale,
  type KnownModel,
  knownModel,
  knownModels,
  listPrice,
} from '../domain/models/known-models.ts';
import { DEFAULT_PROVIDER, PROVIDER_PRESETS, wireOf } from '../domain/models/providers.ts';
import { providerFacts, type TargetParams } from '../domain/models/target.ts';
import { addAliasTarget, type CatalogueParts, checkTargets } from '../domain/models/targets.ts';
import {
  type Command,
  type CommandContext,
  complainOfUsage,
  EXIT_FAILED,
  EXIT_OK,
  EXIT_USAGE,
  type OpenedSystem,
  printJson,
  readOptions,
  type Terminal,
  takeJson,
} from './command.ts';
import { type AliasChange, readAliasChange, SET_ALIAS_USAGE, type ToolChange } from './set-alias-options.ts';

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

export const modelsCommand: Command = {
  name: 'models',
  usage: '[VENDOR] [--json]',
  summary: 'Well-known models with their token limits and list prices, each with its date.',
  works: 'alone',
  async run({ terminal, clock }, given) {
    const { isJson, words } = takeJson(given);
    const typed = readOptions(words, {}, 1);
    if (typed === null) return complainOfUsage(terminal, modelsCommand);
    const [vendor] = typed.positionals;
    const models = knownModels().filter((model) => vendor === undefined || model.vendor === vendor);
    if (models.length === 0) {
      const vendors = [...new Set(knownModels().map((model) => model.vendor))].join(', ');
      terminal.complain(`There is no vendor ${vendor} in the catalogue. Use one of ${vendors}.`);
      return EXIT_FAILED;
    }
    if (isJson) {
      return printJson(
        terminal,
        models.map((model) => ({ ...model, isStale: isStale(model, clock.now()) })),
      );
    }
    for (const model of models) {
      const { contextLength, maxOutputTokens, kind, note } = model;
      const writes = maxOutputTokens === null ? '' : `, writes ${maxOutputTokens}`;
      terminal.print(`${model.vendor} ${model.model} (${kind}): reads ${contextLength}${writes} tokens`);
      terminal.print(
        `  ${listPrice(model)}, ${ageOf(model, clock.now())}${note === undefined ? '' : `. ${note}`}`,
      );
    }
    return EXIT_OK;
  },
};

function ageOf(model: KnownModel, nowMs: number): string {
  return isStale(model, nowMs) ? `STALE: of ${model.asOf}, check ${model.pricePage}` : `of ${model.asOf}`;
}

/** The provider's key is read from a file: every process of the machine could read it on a command line. */
export const setAliasCommand: Command = {
  name: 'set-alias',
  usage: 'ALIAS --provider NAME --model MODEL …',
  summary:
    'Sets the targets of a model alias. The change takes effect within a second. Without arguments it lists its options.',
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
    const { alias, isAdded } = change;
    const settings = withSuggestions(change, system.clock.now(), terminal);
    const target = change.target == null ? change.target : { ...change.target, apiKey: key.apiKey };
    const known = await kindOf(system, alias, settings.kind ?? null);
    if (known.outcome === 'unknown-alias') {
      terminal.complain(known.problem);
      return EXIT_FAILED;
    }
    if (target != null && change.isTested && !(await isAnswering(system, known.kind, target))) {
      terminal.complain(
        'Nothing was saved. Fix the problem and run the command again, or save it with --no-test.',
      );
      return EXIT_FAILED;
    }
    const { database, sharedState, secrets, aliasPrefix: prefix } = system;
    const parts: CatalogueParts = { database, sharedState, secrets, prefix, cipher: await system.cipher() };
    const targets = target == null ? (target === null ? [] : undefined) : [target];
    const isOne = isAdded && target != null && !known.isNew;
    if (isOne) {
      const added = await addAliasTarget(parts, alias, target);
      if (added.outcome !== 'changed') {
        terminal.complain(added.problem);
        return EXIT_FAILED;
      }
    }
    const params = { ...settings, alias, ...(isOne ? {} : { targets }) };
    const changed = await (known.isNew ? createAlias(parts, params) : updateAlias(parts, params));
    if (changed.outcome === 'wrong') {
      terminal.complain(changed.problem);
      return EXIT_FAILED;
    }
    terminal.print(`${alias} ${known.isNew ? 'is added' : isOne ? 'has one more target' : 'is changed'}`);
    if (target != null && !change.isTested) terminal.print(NOT_TESTED);
    return EXIT_OK;
  },
};

const NOT_TESTED = 'No test call was made: a wrong key or address shows only when a client calls it.';

/**
 * Prints the figures of the target from the catalogue of well-known models. With --suggested, they replace missing
 * settings.
 */
function withSuggestions(
  { target, settings, isSuggested, isAdded }: AliasChange,
  nowMs: number,
  terminal: Terminal,
): AliasChange['settings'] {
  const known = target == null ? null : knownModel(target.provider ?? DEFAULT_PROVIDER, target.model);
  if (known === null || isAdded) return settings;
  const { contextLength } = known;
  const maxOutputTokens = known.maxOutputTokens ?? undefined;
  terminal.print(`List price of ${known.model}: ${listPrice(known)}, ${ageOf(known, nowMs)}`);
  if (isSuggested) {
    return {
      ...settings,
      contextLength: settings.contextLength ?? contextLength,
      maxOutputTokens: settings.maxOutputTokens ?? maxOutputTokens,
    };
  }
  if (settings.contextLength === undefined) {
    const output = maxOutputTokens === undefined ? '' : ` --max-output-tokens ${maxOutputTokens}`;
    terminal.print(`Suggested: --context-length ${contextLength}${output}; --suggested sets them`);
  }
  return settings;
}

type KnownKind =
  | { readonly outcome: 'known'; readonly kind: AliasKind; readonly isNew: boolean }
  | { readonly outcome: 'unknown-alias'; readonly problem: string };

/** The type of the alias, or of the one to be added. */
async function kindOf(
  { database, aliasPrefix }: OpenedSystem,
  alias: string,
  kind: string | null,
): Promise<KnownKind> {
  const found = await findAlias(database, aliasPrefix, alias);
  if (found.outcome === 'found') return { outcome: 'known', kind: found.alias.kind, isNew: false };
  const problem = `${found.problem}. To add one, give --kind and its price: turnpike set-alias without arguments lists the options`;
  if (kind === null) return { outcome: 'unknown-alias', problem };
  const requested = ALIAS_KINDS.find((one) => one === kind);
  if (requested !== undefined) return { outcome: 'known', kind: requested, isNew: true };
  return { outcome: 'unknown-alias', problem: `--kind is ${ALIAS_KINDS.join(', ')}` };
}

/** Replaces the given tool settings as a whole; those that are not given stay unchanged. */
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

/** Makes one small call and prints its result. */
async function isAnswering(
  system: CommandContext & OpenedSystem,
  kind: AliasKind,
  params: TargetParams,
): Promise<boolean> {
  const { terminal, clock } = system;
  const checked = checkTargets([params]);
  // The change itself refuses an invalid target, with a reason.
  if (checked.outcome === 'wrong' || system.providers === undefined) return true;
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

type KeyRead =
  | { readonly outcome: 'read'; readonly apiKey: string | null }
  | { readonly outcome: 'failed'; readonly problem: string };

const LARGEST_KEY_FILE = 8_192;

/** The file is read where the command runs, which may be a service in another folder and under another user. */
async function readKey(path: string | null): Promise<KeyRead> {
  if (path === null) return { outcome: 'read', apiKey: null };
  const failed = (problem: string): KeyRead => ({ outcome: 'failed', problem: `--key-file: ${problem}` });
  if (!isAbsolute(path)) return failed(`${path} must begin with /`);
  try {
    if ((await stat(path)).size > LARGEST_KEY_FILE) return failed(`${path} is too large for a key`);
    const apiKey = (await readFile(path, 'utf8')).trim();
    return apiKey === '' ? failed(`${path} is empty`) : { outcome: 'read', apiKey };
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (isMissing) return failed(`there is no file ${path} where the database's process runs`);
    return failed(`${path} cannot be read by the user that runs the database's process`);
  }
}
