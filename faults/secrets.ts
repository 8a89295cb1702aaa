import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { signWebhook } from '../src/ports/webhooks/webhook-signature.ts';
import { type RunningProcess, startProcess } from '../test/system/running-system.ts';
import { holds } from './frame/expect.ts';
import type { FaultCase, Lab } from './frame/fault-case.ts';
import { type Host, hostsAnswer, openHost, originOf } from './frame/host.ts';
import { refusedOf, type TimedCall, tally } from './frame/load.ts';

const NAMES = ['JWT_SECRET', 'INTERNAL_TOKEN', 'METRICS_TOKEN', 'MASTER_KEY', 'WEBHOOK_SECRET'] as const;
type Secrets = Readonly<Record<(typeof NAMES)[number], string>>;
const PROVIDER_KEY = 'sk-of-the-provider';
/** The key must reach the provider whatever MASTER_KEY is, so it is stored once and no start sets it again. */
const STORED_KEYS_ONLY = { MODEL_CONFIG: '' };

/** The settings of a step of docs/operations.md, and which secrets a process with them accepts. */
interface Step {
  readonly what: string;
  readonly env: Readonly<Record<string, string>>;
  readonly accepts: readonly ('old' | 'new')[];
}

export const secretFaults: readonly FaultCase[] = [
  {
    name: 'secrets',
    what: 'every secret of the services is changed under load, host by host, as docs/operations.md says',
    async run(lab) {
      const [old, next] = [drawSecrets(), drawSecrets()];
      const [first, ...others] = stepsOf(old, next);
      if (first === undefined) throw new Error('there are no steps');
      await storeProviderKey(lab, first);
      const services = await startServices(lab, first);
      const person = await signIn(lab, services, first);
      const problems: string[] = [];
      const steps: string[] = [];
      const check = async () => problems.push(...(await wrongAnswers(lab, services, { old, new: next })));
      await check();
      for (const step of others) {
        const before = services.seen().length;
        if (step.accepts.length === 1) steps.push(await reseal(lab, { ...step.env, ...alsoOf(old) }));
        for (const restart of services.restartHosts) {
          await restart(step);
          await check();
        }
        steps.push(`${step.what}: ${tally(services.seen().slice(before))}`);
      }
      problems.push(...(await person.wrongAfterwards()));
      for (const host of services.gateways) lab.seen.push(...(await host.stop()));
      const missed = lab.seen.filter(({ isWhole }) => !isWhole);
      const keys = lab.world.upstream.received.filter(
        ({ headers }) => headers.authorization !== `Bearer ${PROVIDER_KEY}`,
      );
      return {
        kept: tally(lab.seen),
        refused: refusedOf(lab.seen),
        ...{ recoveryMs: null, lost: '', steps },
        problems: [
          ...new Set(problems),
          ...holds(missed.length === 0, `calls failed: ${refusedOf(missed)}; ${missed[0]?.reason ?? ''}`),
          ...holds(keys.length === 0, `${keys.length} calls reached the provider without its key`),
        ],
      };
    },
  },
];

function drawSecrets(): Secrets {
  return Object.fromEntries(NAMES.map((name) => [name, randomBytes(36).toString('base64url')])) as Secrets;
}

function alsoOf(secrets: Secrets): Record<string, string> {
  return Object.fromEntries(NAMES.map((name) => [`${name}_ALSO`, secrets[name]]));
}

function stepsOf(old: Secrets, next: Secrets): readonly Step[] {
  return [
    { what: 'before', env: { ...old }, accepts: ['old'] },
    { what: 'the new one is accepted too', env: { ...old, ...alsoOf(next) }, accepts: ['old', 'new'] },
    { what: 'the two are exchanged', env: { ...next, ...alsoOf(old) }, accepts: ['old', 'new'] },
    { what: 'the old one is removed', env: { ...next }, accepts: ['new'] },
  ];
}

/** A command of an operator, in a process of its own; what it printed. */
async function type(lab: Lab, env: Step['env'], ...words: string[]): Promise<string> {
  const command = startProcess('turnpike.ts', words, {
    ...{ ...lab.world.environment, ...STORED_KEYS_ONLY, ...env },
  });
  const exitCode = await command.exited;
  if (exitCode === 0) return command.output().trim();
  throw new Error(`turnpike ${words[0]} ended with ${exitCode}: ${command.errors()}`);
}

async function storeProviderKey(lab: Lab, { env }: Step): Promise<void> {
  const file = `${lab.world.dataDir}/provider.key`;
  writeFileSync(file, PROVIDER_KEY, { mode: 0o600 });
  const words = ['svc/chat-default', lab.world.upstream.url, 'provider-model-x', '--key-file', file];
  await type(lab, env, 'set-alias', ...words);
  lab.world.upstream.received.length = 0;
}

async function reseal(lab: Lab, env: Step['env']): Promise<string> {
  return `turnpike reseal-keys: ${(await type(lab, env, 'reseal-keys')).replaceAll('\n', ', ')}`;
}

interface Service {
  readonly file: 'backend.ts' | 'ai-service.ts';
  origin: string;
  step: Step;
  running: RunningProcess;
}

interface Services {
  readonly gateways: readonly Host[];
  /** The step that each gateway runs with, in their order. */
  readonly gatewaySteps: Step[];
  readonly others: readonly Service[];
  /** Each has a gateway and a backend, the first one the AI service too. */
  readonly restartHosts: readonly ((step: Step) => Promise<void>)[];
  seen(): readonly TimedCall[];
}

/** Two gateways under load, two backends, an AI service. */
async function startServices(lab: Lab, step: Step): Promise<Services> {
  const environment = { ...lab.world.environment, ...STORED_KEYS_ONLY };
  const gateways = [openHost(lab, lab.world.rawKey), openHost(lab, lab.world.rawKey)];
  const gatewaySteps = gateways.map(() => step);
  const restartGateway = (host: Host, at: number) => async (next: Step) => {
    await host.run(() => startProcess('gateway.ts', [], { ...environment, ...next.env }));
    gatewaySteps[at] = next;
    await hostsAnswer(gateways);
  };
  const started = async (file: Service['file'], { env }: Step) => {
    const running = await lab.start(file, { ...STORED_KEYS_ONLY, ...env });
    return { running, origin: await originOf(running) };
  };
  const restartOther = (service: Service) => async (next: Step) => {
    service.running.signal('SIGTERM');
    const exitCode = await service.running.exited;
    if (exitCode !== 0)
      throw new Error(`${service.file} ended with ${exitCode}: ${service.running.errors()}`);
    Object.assign(service, { ...(await started(service.file, next)), step: next });
  };
  for (const [at, host] of gateways.entries()) {
    await host.run(() => startProcess('gateway.ts', [], { ...environment, ...step.env }));
    gatewaySteps[at] = step;
  }
  const files = ['backend.ts', 'backend.ts', 'ai-service.ts'] as const;
  const others = await Promise.all(
    files.map(async (file): Promise<Service> => ({ file, step, ...(await started(file, step)) })),
  );
  return {
    ...{ gateways, gatewaySteps, others },
    restartHosts: [0, 1].map((host) => async (next: Step) => {
      const own = [...gateways.map(restartGateway), ...others.map(restartOther)].filter(
        (_, at) => at % 2 === host,
      );
      await Promise.all(own.map((restart) => restart(next)));
    }),
    seen: () => gateways.flatMap(({ seen }) => [...seen]),
  };
}

/** Asks every process with either secret; what was answered otherwise than its step says. */
async function wrongAnswers(
  lab: Lab,
  { gateways, gatewaySteps, others }: Services,
  secrets: Readonly<Record<'old' | 'new', Secrets>>,
): Promise<string[]> {
  const problems: string[] = [];
  const expectStatus = async (
    which: 'old' | 'new',
    { accepts, what }: Step,
    name: string,
    refusals: readonly number[],
    asking: (secret: Secrets) => Promise<Response>,
  ) => {
    const { status } = await asking(secrets[which]);
    const expected = accepts.includes(which) ? [200] : refusals;
    if (!expected.includes(status))
      problems.push(`${what}: ${name} with the ${which} one answered ${status}`);
  };
  const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` }, signal: lab.signal });
  for (const which of ['old', 'new'] as const) {
    for (const [at, host] of gateways.entries()) {
      const step = gatewaySteps[at] as Step;
      await expectStatus(which, step, 'METRICS_TOKEN of a gateway', [401], ({ METRICS_TOKEN }) =>
        fetch(`${host.origin()}/metrics`, bearer(METRICS_TOKEN)),
      );
    }
    for (const { file, origin, step } of others) {
      await expectStatus(which, step, `METRICS_TOKEN of ${file}`, [401], ({ METRICS_TOKEN }) =>
        fetch(`${origin}/metrics`, bearer(METRICS_TOKEN)),
      );
      const path = file === 'backend.ts' ? '/operations' : '/monitoring/app-logs';
      await expectStatus(which, step, `INTERNAL_TOKEN of ${file}`, [401], ({ INTERNAL_TOKEN }) =>
        fetch(`${origin}${path}`, bearer(INTERNAL_TOKEN)),
      );
      if (file !== 'backend.ts') continue;
      // 429 where a case before this one has sent many with a wrong signature.
      await expectStatus(which, step, 'WEBHOOK_SECRET', [400, 429], ({ WEBHOOK_SECRET }) =>
        sendEvent(origin, WEBHOOK_SECRET),
      );
    }
  }
  return problems;
}

let events = 0;

async function sendEvent(origin: string, secret: string): Promise<Response> {
  events += 1;
  const created = Math.floor(Date.now() / 1_000);
  const object = { id: `cus_${events}`, object: 'customer' };
  const event = { id: `evt_${process.pid}_${events}`, object: 'event', type: 'customer.updated', created };
  const body = JSON.stringify({ ...event, api_version: '2023-10-16', livemode: false, data: { object } });
  const headers = { 'stripe-signature': signWebhook(body, [secret], created * 1_000) };
  return await fetch(`${origin}/payments/webhook`, { method: 'POST', body, headers });
}

interface Person {
  wrongAfterwards(): Promise<string[]>;
}

/** Signed in before the change: the session goes on, and an access token of the old secret is refused afterwards. */
async function signIn(lab: Lab, { others }: Services, { env }: Step): Promise<Person> {
  const made = JSON.parse(await type(lab, env, 'create-super-admin', 'root@acme.example', '--json'));
  const [one, other] = others.filter(({ file }) => file === 'backend.ts');
  const ask = async (at: Service | undefined, query: string, token?: string) => {
    const headers = {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    const body = JSON.stringify({ query });
    const response = await fetch(`${at?.origin}/graphql`, { method: 'POST', headers, body });
    return (await response.json()) as { data?: Record<string, Record<string, string> | null> };
  };
  const credentials = `email: "${made.email}", password: "${made.password}"`;
  const login = await ask(one, `mutation { login(${credentials}) { accessToken refreshToken } }`);
  const { accessToken, refreshToken } = login.data?.login ?? {};
  const isKnown = async (at: Service | undefined, token?: string) =>
    (await ask(at, '{ whoAmI { id } }', token)).data?.whoAmI?.id !== undefined;
  if (!(await isKnown(other, accessToken))) throw new Error('signing in failed');
  return {
    async wrongAfterwards() {
      const refreshed = await ask(
        other,
        `mutation { refreshSession(refreshToken: "${refreshToken}") { accessToken } }`,
      );
      const next = refreshed.data?.refreshSession?.accessToken;
      return [
        ...holds(!(await isKnown(one, accessToken)), 'an access token of the old JWT_SECRET is accepted'),
        ...holds(await isKnown(one, next), 'the session has ended with the old JWT_SECRET'),
      ];
    },
  };
}
