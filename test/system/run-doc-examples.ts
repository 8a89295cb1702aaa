import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildSchema, parse, validate } from 'graphql';
import OpenAI from 'openai';
import { createSystemClock } from '../../src/adapters/clock/system-clock.ts';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { EXIT_USAGE, type Terminal } from '../../src/command-line/command.ts';
import { commandNamed, commandsPage, help } from '../../src/command-line/commands.ts';
import { askThroughSocket } from '../../src/start/processes/control-socket.ts';
import { asPdf, cvLines } from '../documents/one-cv-in-many-files.ts';
import { curlRequest, type DocBlock, expanded, type ShellCommand, shellCommands } from './doc-examples.ts';
import type { DemoFile } from './running-system.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Blocks and commands that are not run, each with its reason. The key is the file and what the block or command begins
 * with; one that nothing needs any more fails its test.
 */
const NOT_RUN: readonly (readonly [file: string, beginning: string, reason: string])[] = [
  ['README.md', 'ready: ', 'what the start prints; the system under test has printed it'],
  ['README.md', 'export DATABASE_URL', 'the names of servers that only a deployment has'],
  [
    'docs/audit.md',
    'npm run turnpike -- audit --provider',
    'the sandbox of the test has a port that commands cannot know; test/payments runs it',
  ],
  ['docs/audit.md', '! transactions', 'a message; test/attacks/tampered-ledger.test.ts has it'],
  [
    'docs/audit.md',
    'npm --silent run turnpike -- audit --head',
    'writes a file; test/attacks/tampered-ledger.test.ts runs both commands',
  ],
  [
    'docs/billing.md',
    'npm run turnpike -- replay-payments',
    'the sandbox of the test has a port that commands cannot know; src/command-line tests run it',
  ],
  [
    'docs/alerts.md',
    'import { createHmac',
    'verifies a request; test/adapters/webhook-sender.test.ts runs it',
  ],
  ['docs/hooks.md', '{ callHookDeliveries', 'for super admins; test/attacks/other-companies.test.ts asks it'],
  [
    'docs/monitoring.md',
    'OTEL_EXPORTER_OTLP_ENDPOINT',
    'starts the system with a collector that a deployment has; test/gateway/traces.test.ts checks the export',
  ],
  ['docs/clients.md', 'client := openai', 'a language whose SDK is not installed here'],
  ['docs/clients.md', 'OpenAIClient client', 'a language whose SDK is not installed here'],
  ['docs/clients.md', 'transport := &mcp', 'a language whose SDK is not installed here'],
  ['docs/clients.md', 'var transport =', 'a language whose SDK is not installed here'],
  ['docs/mcp.md', 'claude mcp add', 'a client of its own, which is not installed'],
  ['docs/mcp.md', 'npx @modelcontextprotocol/inspector', 'test/mcp runs the inspector; npx would fetch it'],
  [
    'README.md',
    'npm run turnpike -- set-alias',
    'calls a provider with a key; src/command-line tests run it',
  ],
  ['docs/operations.md', 'export POSTGRES_PASSWORD', 'needs a container engine'],
  ['docs/operations.md', 'for name in', 'needs a container engine'],
  ['docs/operations.md', 'docker', 'needs a container engine'],
  [
    'docs/operations.md',
    'turnpike: the database',
    'a message; test/adapters/database/migrate.test.ts has it',
  ],
  [
    'docs/operations.md',
    'turnpike: MASTER_KEY',
    'a message; src/start/wiring/check-master-key.test.ts has it',
  ],
  ['docs/operations.md', 'turnpike serve', 'starts the executable; test/deployment builds and starts it'],
  ['docs/providers.md', 'turnpike set-alias', 'calls a provider with a key; src/command-line tests run it'],
  ['docs/quality.md', 'matches/SOURCE/jobs', 'the layout of a folder'],
  ['docs/quality.md', 'FOLDER/SOURCE/cvs.jsonl', 'the layout of a folder'],
  ['docs/scaling.md', 'max_connections', 'a formula'],
  ['docs/scaling.md', 'server connections', 'a formula'],
  ['docs/scaling.md', 'alter role', 'needs the role that a deployment has'],
];

/** Documents whose commands are typed by a command of its own, in their order. */
const RUN_ELSEWHERE: Readonly<Record<string, string>> = {
  'docs/deploying.md': 'npm run try-deploy',
};

/** Words of the documents that stand for something that every reader has of their own. */
const ABSENT = '00000000-0000-4000-8000-000000000000';

const CV = '! Ada Byron\nada@example.org\n# Experience\nEngineer, Analytical Engines Ltd, 2020 - 2023';

export interface DocWorld {
  readonly folder: string;
  readonly dataDir: string;
  readonly demo: DemoFile;
  readonly variables: Record<string, string>;
  close(): Promise<void>;
}

export async function openDocWorld(dataDir: string, demo: DemoFile): Promise<DocWorld> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-docs-'));
  writeFileSync(join(folder, 'cv.pdf'), asPdf({ top: [], columns: [cvLines(CV)] }));
  writeFileSync(join(folder, 'key'), 'a-key-of-a-provider');
  const answer = await graphql(demo, undefined, {
    query:
      'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }',
    variables: demo.company_admin,
  });
  const TOKEN = (answer as { data: { login: { accessToken: string } } }).data.login.accessToken;
  return {
    folder,
    dataDir,
    demo,
    variables: { KEY: demo.full_key, TOKEN },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

/** What does not work of a block: nothing, if all is well. */
export async function runBlock(world: DocWorld, block: DocBlock): Promise<string[]> {
  if (isNotRun(block, block.text) || isRunElsewhere(block)) return [];
  switch (block.language) {
    case 'sh':
      return await runShell(world, block);
    case 'json':
      JSON.parse(block.text);
      return [];
    case 'yaml':
      Bun.YAML.parse(block.text);
      return [];
    case 'toml':
      Bun.TOML.parse(block.text);
      return [];
    case 'graphql':
      return await runGraphql(world, block.text.replaceAll('"…"', `"${ABSENT}"`));
    case 'js':
    case 'ts':
      return await runScript(world, block.text);
    default:
      return [`nothing runs a block of "${block.language}": run it, or list it with a reason`];
  }
}

function isNotRun({ place }: DocBlock, text: string): boolean {
  const file = place.split(':')[0] ?? '';
  return NOT_RUN.some(([path, beginning]) => path === file && text.trimStart().startsWith(beginning));
}

function isRunElsewhere({ place, language }: DocBlock): boolean {
  return language === 'sh' && RUN_ELSEWHERE[place.split(':')[0] ?? ''] !== undefined;
}

/** Rows of `NOT_RUN` that no block begins with any more. */
export function unusedExceptions(blocks: readonly DocBlock[]): string[] {
  const isUsed = (file: string, beginning: string) =>
    blocks.some((block) => block.place.startsWith(`${file}:`) && block.text.includes(beginning));
  return NOT_RUN.filter(([file, beginning]) => !isUsed(file, beginning)).map((row) => row.join(': '));
}

async function runShell(world: DocWorld, block: DocBlock): Promise<string[]> {
  const problems: string[] = [];
  for (const command of shellCommands(block.text)) {
    const line = command.words.join(' ');
    if (isNotRun(block, line)) continue;
    const problem = await runCommand(world, command).catch((error: unknown) => String(error));
    if (problem !== null) problems.push(`${line}: ${problem}`);
  }
  return problems;
}

async function runCommand(world: DocWorld, { words, shown }: ShellCommand): Promise<string | null> {
  const [first = '', second = '', third = ''] = words;
  const assigned = /^(\w+)=\$\(node -p "require\('\.\/\.data\/demo\.json'\)\.(\w+)"\)$/.exec(first);
  if (assigned !== null) {
    const value = world.demo[assigned[2] as keyof DemoFile];
    if (typeof value !== 'string') return `demo.json has no ${assigned[2]}`;
    world.variables[assigned[1] ?? ''] = value;
    return null;
  }
  const plain = words.map((word) => expanded(placed(world, word), world.variables));
  if (first === 'curl') return await runCurl(plain, shown);
  if (first === 'turnpike') return await runTurnpike(world, plain.slice(1));
  if (first === 'npm' && third === 'turnpike') return await runTurnpike(world, plain.slice(4));
  if (first === 'npm') return second === 'run' ? scriptProblem(third, plain.slice(4)) : npmProblem(second);
  return 'nothing runs this: run it, or list it with a reason';
}

const NPM_COMMANDS = ['ci', 'start', 'test'];

function npmProblem(command: string): string | null {
  return NPM_COMMANDS.includes(command) ? null : `npm has no ${command}`;
}

/** Scripts for people who change the code (tests, benchmarks, faults) exist; what they are given exists too. */
function scriptProblem(script: string, words: readonly string[]): string | null {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  if (scripts[script] === undefined) return `package.json has no script ${script}`;
  const source = /bun (\S+)\/run\.ts/.exec(scripts[script] ?? '')?.[1];
  if (source === undefined) return null;
  const files = [...new Bun.Glob('**/*.ts').scanSync(join(ROOT, source))].map((path) =>
    readFileSync(join(ROOT, source, path), 'utf8'),
  );
  const isKnown = (word: string) => word.endsWith('.json') || files.some((file) => file.includes(word));
  return words.every(isKnown) ? null : `${source} does not know one of ${words.join(' ')}`;
}

/** The addresses, files and ids of this world in the place of those of the documents. */
function placed({ demo, folder }: DocWorld, word: string): string {
  const gateway = new URL(demo.gateway_url).origin;
  return word
    .replace(/(?:http:\/\/)?(?:127\.0\.0\.1|localhost):8080/, gateway)
    .replace(/(?:http:\/\/)?(?:127\.0\.0\.1|localhost):8081/, demo.backend_url)
    .replace(/(?:http:\/\/)?(?:127\.0\.0\.1|localhost):8082/, demo.ai_url)
    .replace('https://gateway.example.org', gateway)
    .replace('ada@acme.example', demo.company_admin.email)
    .replace('correct horse', demo.company_admin.password)
    .replace('@cv.pdf', `@${folder}/cv.pdf`)
    .replace(/^\/path\/to\/key$/, `${folder}/key`)
    .replace(/^\/srv\//, `${folder}/`)
    .replace(/^COMPANY_ID$/, demo.company_id)
    .replace(/^(?:CALL_ID|INVOICE_ID|ID)$/, ABSENT)
    .replace(/^REASON$/, 'an example');
}

/** Examples behind it call `svc/chat-default`, so that another alias gets the provider that is not there. */
function aliasToChange(words: readonly string[]): readonly string[] {
  return words.map((word) => (word === 'svc/chat-default' ? 'svc/chat-fast' : word));
}

async function runCurl(words: readonly string[], shown: string | null): Promise<string | null> {
  const { url, init } = curlRequest(words);
  const response = await fetch(url, init);
  const text = await response.text();
  if (!response.ok) return `${response.status} ${text}`;
  if (/text\/event-stream/.test(response.headers.get('content-type') ?? ''))
    return text.trimEnd().endsWith('data: [DONE]') ? null : `the stream did not end: ${text}`;
  const answer = JSON.parse(text) as Readonly<Record<string, unknown>>;
  if (answer.errors !== undefined) return text;
  // A document that is read in an example has a record.
  if ('document' in answer && (answer.profile ?? answer.posting ?? null) === null) return text;
  if (shown === null) return null;
  const names = (value: unknown) => JSON.stringify(value, (_, part) => (typeof part === 'number' ? 0 : part));
  return names(JSON.parse(shown)) === names(answer)
    ? null
    : `the document shows ${shown}, the answer is ${text}`;
}

/** A command works; one for a thing that this world does not have says so, and is not written wrongly. */
async function runTurnpike(
  { dataDir }: DocWorld,
  [name = '', ...words]: readonly string[],
): Promise<string | null> {
  if (name === 'help') return help() === '' ? 'no help' : null;
  if (name === 'commands') return commandsPage() === '' ? 'no page' : null;
  const command = commandNamed(name);
  if (command === null) return 'there is no such command';
  const said: string[] = [];
  const terminal: Terminal = {
    print: (line) => void said.push(line),
    complain: (line) => void said.push(line),
  };
  const exitCode =
    command.works === 'alone'
      ? await command.run({ terminal, clock: createSystemClock(), secrets: createSystemSecrets() }, words)
      : await askThroughSocket(dataDir, [name, ...aliasToChange(words)], {
          terminal,
          clock: createSystemClock(),
        });
  if (exitCode === EXIT_USAGE) return said.join('\n');
  const isOfAbsent =
    words.includes(ABSENT) || /price_1AbC|there is no|nothing waits/.test([...words, ...said].join(' '));
  return exitCode === 0 || isOfAbsent ? null : `exit code ${exitCode}: ${said.join('\n')}`;
}

async function graphql(demo: DemoFile, token: string | undefined, body: object): Promise<unknown> {
  const response = await fetch(`${demo.backend_url}/graphql`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  });
  return await response.json();
}

/** The query matches the schema; an unknown id is not found. */
async function runGraphql({ demo, variables }: DocWorld, query: string): Promise<string[]> {
  const invalid = schemaProblems(query);
  if (invalid.length > 0) return invalid;
  const answer = (await graphql(demo, variables.TOKEN, { query })) as {
    errors?: { message: string; extensions?: { code?: string } }[];
  };
  return (answer.errors ?? [])
    .filter(({ extensions }) => extensions?.code !== 'NOT_FOUND')
    .map(({ message }) => message);
}

function schemaProblems(query: string): string[] {
  const schema = buildSchema(readFileSync(join(ROOT, 'src/backend/graphql/schema.graphql'), 'utf8'));
  return validate(schema, parse(query)).map(({ message }) => message);
}

/** A client of a library: its calls are made, and a subscription, which would never end, is compared with the schema. */
async function runScript({ demo }: DocWorld, script: string): Promise<string[]> {
  const query = /query: '([^']+)'/.exec(script)?.[1];
  const module = /from '([\w-]+)'/.exec(script)?.[1];
  const missing =
    module === undefined || existsSync(join(ROOT, 'node_modules', module))
      ? []
      : [`there is no module ${module}`];
  if (query !== undefined) return [...missing, ...schemaProblems(query)];
  const client = new OpenAI({ baseURL: demo.gateway_url, apiKey: demo.full_key });
  const question = { model: 'svc/chat-default', messages: [{ role: 'user', content: 'Hello' }] };
  const run = new Function('client', 'question', `return (async () => { ${script} })()`) as (
    ...given: unknown[]
  ) => Promise<void>;
  await run(client, question);
  return missing;
}
