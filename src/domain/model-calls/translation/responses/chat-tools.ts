import { isObject, type JsonObject } from '../../../../ports/json-object.ts';
import { freeName } from '../short-names.ts';
import { type BodyProblems, readMember, readNeeded } from './body-reading.ts';
import { BUILT_IN_TOOLS, type BuiltInKind } from './built-in-tools.ts';

/** A tool as called in the Responses API. In chat completions all of them are functions. */
export interface CalledTool {
  readonly kind: 'function' | 'custom' | BuiltInKind;
  readonly name: string;
  /** Null if the tool is in no namespace. */
  readonly namespace: string | null;
}

/** The functions of a request, and the tool that each of them represents. */
export interface ToolNames {
  /** The function that represents the tool; the same for the same name and namespace. */
  chatNameOf(tool: CalledTool): string;
  /** An unknown name is a function of that name: models invent names. */
  toolOf(chatName: string): CalledTool;
}

export function createToolNames(): ToolNames {
  const chatNames = new Map<string, string>();
  const tools = new Map<string, CalledTool>();

  return {
    chatNameOf(tool) {
      const key = `${tool.namespace ?? ''}\0${tool.name}`;
      const known = chatNames.get(key);
      if (known !== undefined) return known;
      const fullName = tool.namespace === null ? tool.name : `${tool.namespace}__${tool.name}`;
      const name = freeName(fullName, tools);
      chatNames.set(key, name);
      tools.set(name, tool);
      return name;
    },
    toolOf: (chatName) => tools.get(chatName) ?? { kind: 'function', name: chatName, namespace: null },
  };
}

/** The tools of a request as functions, in order and without duplicates. */
export interface ChatTools {
  /** `param` is the path of the list. */
  add(tools: readonly unknown[], param: string): void;
  /** Keeps only these, by their names in chat completions. */
  keepOnly(chatNames: ReadonlySet<string>): void;
  list(): readonly JsonObject[];
}

export function createChatTools(problems: BodyProblems, names: ToolNames): ChatTools {
  let functions = new Map<string, JsonObject>();

  function addFunction(tool: CalledTool, description: unknown, parameters: unknown, strict: unknown): void {
    const name = names.chatNameOf(tool);
    if (functions.has(name)) return;
    functions.set(name, {
      type: 'function',
      function: {
        name,
        ...(typeof description === 'string' && description !== '' ? { description } : {}),
        parameters: isObject(parameters) ? parameters : NO_PARAMETERS,
        // False is the default of chat completions, and servers that do not know the member reject it.
        ...(strict === true ? { strict } : {}),
      },
    });
  }

  function addBuiltIn(kind: BuiltInKind, more = ''): void {
    const { description, parameters } = BUILT_IN_TOOLS[kind];
    addFunction(builtIn(kind), `${description}${more}`, parameters, false);
  }

  function addTool(tool: unknown, param: string, namespace: string | null): void {
    const found = readNeeded(problems, tool, 'object', param);
    if (found === null) return;
    switch (found.type) {
      case 'function': {
        const name = readName(problems, found, param);
        readMember(problems, found.parameters, 'object', `${param}.parameters`);
        addFunction({ kind: 'function', name, namespace }, found.description, found.parameters, found.strict);
        return;
      }
      case 'custom': {
        const name = readName(problems, found, param);
        addFunction({ kind: 'custom', name, namespace }, describeCustom(found), CUSTOM_PARAMETERS, false);
        return;
      }
      case 'namespace': {
        const name = readName(problems, found, param);
        const tools = readNeeded(problems, found.tools, 'array', `${param}.tools`) ?? [];
        if (namespace !== null) problems.add('A namespace must not be in a namespace.', `${param}.type`);
        else for (const [at, inner] of tools.entries()) addTool(inner, `${param}.tools[${at}]`, name);
        return;
      }
      case 'shell':
        if (!isObject(found.environment) || found.environment.type !== 'local') break;
        addBuiltIn('shell', describeSkills(found.environment.skills));
        return;
      case 'local_shell':
      case 'apply_patch':
        addBuiltIn(found.type);
        return;
      case 'tool_search':
        if (found.execution !== 'client') break;
        addFunction(builtIn('tool_search'), found.description, found.parameters, false);
        return;
      case 'web_search':
        // Codex lists it in every request, limited to the provider's index: the model answers without it.
        if (found.external_web_access === false) return;
        break;
    }
    refuseTool(problems, found.type, `${param}.type`);
  }

  return {
    add(tools, param) {
      for (const [at, tool] of tools.entries()) addTool(tool, `${param}[${at}]`, null);
    },
    keepOnly(chatNames) {
      functions = new Map([...functions].filter(([name]) => chatNames.has(name)));
    },
    list: () => [...functions.values()],
  };
}

/**
 * The `tool_choice` for chat completions; undefined if none is sent. Allowed tools become the only tools of the
 * request, which also works with servers that do not know `allowed_tools`.
 */
export function readToolChoice(
  problems: BodyProblems,
  names: ToolNames,
  tools: ChatTools,
  choice: unknown,
): unknown {
  if (choice === undefined || choice === null || choice === 'auto') return undefined;
  if (choice === 'none') return tools.list().length === 0 ? undefined : 'none';
  if (choice === 'required') return required(problems, tools, 'tool_choice');
  if (!isObject(choice)) {
    problems.add("'tool_choice' must be none, auto, required or an object.", 'tool_choice');
    return undefined;
  }
  if (choice.type === 'allowed_tools') {
    const allowed = readNeeded(problems, choice.tools, 'array', 'tool_choice.tools') ?? [];
    const chosen = allowed.map((tool, at) => chosenName(problems, names, tool, `tool_choice.tools[${at}]`));
    tools.keepOnly(new Set(chosen));
    return choice.mode === 'required' ? required(problems, tools, 'tool_choice.tools') : undefined;
  }
  const name = chosenName(problems, names, choice, 'tool_choice');
  const isOffered = tools.list().some((tool) => isObject(tool.function) && tool.function.name === name);
  if (!isOffered) problems.add("'tool_choice' names a tool that is not in 'tools'.", 'tool_choice');
  return { type: 'function', function: { name } };
}

function required(problems: BodyProblems, tools: ChatTools, param: string): 'required' {
  if (tools.list().length === 0) {
    problems.add("'tool_choice' requires a tool call, and the request offers no tool.", param);
  }
  return 'required';
}

function chosenName(problems: BodyProblems, names: ToolNames, choice: unknown, param: string): string {
  const type = isObject(choice) ? choice.type : undefined;
  if (type === 'local_shell' || type === 'shell' || type === 'apply_patch') {
    return names.chatNameOf(builtIn(type));
  }
  if (!isObject(choice) || (type !== 'function' && type !== 'custom')) {
    refuseTool(problems, type, `${param}.type`);
    return '';
  }
  const namespace = typeof choice.namespace === 'string' ? choice.namespace : null;
  return names.chatNameOf({ kind: type, name: readName(problems, choice, param), namespace });
}

function readName(problems: BodyProblems, holder: JsonObject, param: string): string {
  const name = readNeeded(problems, holder.name, 'string', `${param}.name`);
  if (name === '') problems.add(`'${param}.name' must not be empty.`, `${param}.name`);
  return name ?? '';
}

function refuseTool(problems: BodyProblems, type: unknown, param: string): void {
  const what = typeof type === 'string' ? `tools of type '${type.slice(0, 60)}'` : 'a tool without a type';
  problems.add(
    `This model is served over chat completions, which do not have ${what}. Use tools of type function or custom.`,
    param,
  );
}

export function builtIn(kind: BuiltInKind): CalledTool {
  return { kind, name: kind, namespace: null };
}

const NO_PARAMETERS = { type: 'object', properties: {} };
const CUSTOM_PARAMETERS = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The input of the tool, as plain text.' } },
  required: ['input'],
  additionalProperties: false,
};
/** Folders with instructions on the client's machine, which the model reads by commands. */
function describeSkills(skills: unknown): string {
  const lines = (Array.isArray(skills) ? skills : []).flatMap((skill) =>
    isObject(skill) ? [`- ${skill.name}: ${skill.description} (${skill.path})`] : [],
  );
  return lines.length === 0
    ? ''
    : `\n\nSkills. Before you use one, read SKILL.md in its folder:\n${lines.join('\n')}`;
}

function describeCustom({ description, format }: JsonObject): string {
  const lines = typeof description === 'string' && description !== '' ? [description] : [];
  if (isObject(format) && format.type === 'grammar' && typeof format.definition === 'string') {
    const syntax = typeof format.syntax === 'string' ? `${format.syntax} ` : '';
    lines.push(`The input must match this ${syntax}grammar:\n${format.definition}`);
  }
  return lines.join('\n\n');
}
