import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../test/services/free-port.ts';
import { answering, type Contestant } from './contestants.ts';
import type { BenchContext } from './measurement.ts';

/** Other gateways, measured where PEERS_DIR holds them; docs/benchmarks.md says how they get there. */
const PEERS_DIR = process.env.PEERS_DIR ?? '';
const LITELLM_START_SECONDS = 90;

/** npm install --prefix "$PEERS_DIR" @portkey-ai/gateway@1.15.2 */
export async function startPortkey(context: BenchContext, upstream: string): Promise<Contestant | null> {
  const program = join(PEERS_DIR, 'node_modules/@portkey-ai/gateway/build/start-server.js');
  if (PEERS_DIR === '' || !existsSync(program)) return null;
  const port = freePort();
  const environment = { TRUSTED_CUSTOM_HOSTS: '127.0.0.1,localhost' };
  const pid = run(context, ['node', program, '--headless', `--port=${port}`], environment);
  const url = `http://127.0.0.1:${port}/v1/chat/completions`;
  await answering(url);
  const headers = ['x-portkey-provider: openai', `x-portkey-custom-host: ${upstream}`];
  return { name: 'Portkey 1.15.2 on Node', url, key: 'x', pid, headers };
}

/** python3 -m venv "$PEERS_DIR/litellm" && "$PEERS_DIR/litellm/bin/pip" install 'litellm[proxy]' */
export async function startLiteLlm(context: BenchContext, upstream: string): Promise<Contestant | null> {
  const program = join(PEERS_DIR, 'litellm/bin/litellm');
  if (PEERS_DIR === '' || !existsSync(program)) return null;
  const folder = await context.freshPath();
  mkdirSync(folder, { recursive: true });
  const config = join(folder, 'config.yaml');
  writeFileSync(config, liteLlmConfiguration(upstream));
  const port = freePort();
  const words = ['--config', config, '--host', '127.0.0.1', '--port', `${port}`, '--num_workers', '1'];
  // Its list of prices comes from the network otherwise.
  const environment = { HOME: folder, LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_MODE: 'PRODUCTION' };
  const pid = run(context, [program, ...words], environment);
  const url = `http://127.0.0.1:${port}/v1/chat/completions`;
  await answering(url, LITELLM_START_SECONDS);
  return { name: `LiteLLM ${await liteLlmVersion()} on Python`, url, key: 'x', pid };
}

function run(
  context: BenchContext,
  command: readonly string[],
  environment: Readonly<Record<string, string>>,
): number {
  const child = Bun.spawn([...command], {
    stdout: 'ignore',
    stderr: 'ignore',
    env: { PATH: process.env.PATH ?? '', ...environment },
  });
  context.whenEnding(async () => {
    child.kill('SIGKILL');
    await child.exited;
  });
  return child.pid;
}

/** No key, no limits, no database: as Portkey, it only passes calls on. */
function liteLlmConfiguration(upstream: string): string {
  return `model_list:
  - model_name: svc/chat-default
    litellm_params: { model: openai/instant, api_base: "${upstream}", api_key: sk-instant }
litellm_settings: { telemetry: false, num_retries: 0 }
`;
}

async function liteLlmVersion(): Promise<string> {
  const python = join(PEERS_DIR, 'litellm/bin/python');
  const command = 'import importlib.metadata as m; print(m.version("litellm"))';
  const child = Bun.spawn([python, '-c', command], { stdout: 'pipe', stderr: 'ignore' });
  return (await new Response(child.stdout).text()).trim();
}
