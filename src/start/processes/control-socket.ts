import { chmodSync, existsSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { migrate } from '../../adapters/database/migrate.ts';
import { socketPlace } from '../../adapters/request-channel/unix-socket.ts';
import type { CommandContext, OpenedSystem, Terminal } from '../../command-line/command.ts';
import { commandNamed } from '../../command-line/commands.ts';
import { createAccessTokens } from '../../domain/accounts/tokens.ts';
import { createAnswerCipher } from '../../domain/calls/idempotency/answer-cipher.ts';
import { createCipher } from '../../domain/models/cipher.ts';
import { readBody } from '../../http/read-body.ts';
import { readJson } from '../../http/read-json.ts';
import type { Clock } from '../../ports/clock.ts';
import type { JobQueue } from '../../ports/job-queue.ts';
import type { Log } from '../../ports/log.ts';
import { accepted } from '../settings/secrets.ts';
import { wrongMasterKey } from '../wiring/check-master-key.ts';
import type { Parts } from '../wiring/connect.ts';
import { mailOutbox } from '../wiring/open-mail.ts';
import { isDataFolderHeld } from './data-folder.ts';
import { describe, StartProblem } from './lifecycle.ts';
import type { Opening } from './start-service.ts';

/**
 * Only one process can open the embedded database. The command line connects to it through a socket in the data folder,
 * which only the folder's owner can open: it sends the typed words and receives the lines to print.
 */
const FILE_NAME = 'control.sock';
const LARGEST_BODY_BYTES = 1024 * 1024;
const BODY_TIMEOUT_MS = 5_000;

const typed = z.strictObject({ words: z.array(z.string().max(10_000)).min(1).max(1_000) });
const answerSchema = z.strictObject({
  exitCode: z.number().int(),
  lines: z.array(z.strictObject({ kind: z.enum(['print', 'complain']), line: z.string() })),
});

interface ControlSocket {
  close(): Promise<void>;
}

export function openControlSocket(
  dataDir: string,
  system: Omit<CommandContext, 'terminal'> & OpenedSystem,
  log: Log,
): ControlSocket {
  const place = socketPlace(join(dataDir, FILE_NAME));
  // The process that left this file behind has ended: this one has the folder's lock.
  if (existsSync(place.path)) unlinkSync(place.path);
  const server = Bun.serve({
    unix: place.path,
    async fetch(request) {
      const words = await readWords(request, system.clock);
      const command = commandNamed(words?.[0] ?? '');
      if (words === null || command === null) return new Response(null, { status: 400 });
      const lines: z.output<typeof answerSchema>['lines'] = [];
      const terminal: Terminal = {
        print: (line) => void lines.push({ kind: 'print', line }),
        complain: (line) => void lines.push({ kind: 'complain', line }),
      };
      log.info('an operator runs a command', { command: command.name });
      const exitCode = await command.run({ ...system, terminal }, words.slice(1)).catch((error: unknown) => {
        terminal.complain(describe(error));
        return 1;
      });
      return Response.json({ exitCode, lines });
    },
  });
  chmodSync(place.path, 0o600);
  return {
    async close() {
      await server.stop(true);
      place.release();
    },
  };
}

async function readWords(request: Request, clock: Clock): Promise<readonly string[] | null> {
  const body = await readBody(request, { maxBytes: LARGEST_BODY_BYTES, timeoutMs: BODY_TIMEOUT_MS, clock });
  const json = body.outcome === 'read' ? readJson(body.bytes) : null;
  if (json?.outcome !== 'read') return null;
  return typed.safeParse(json.value).data?.words ?? null;
}

/** The socket opens seconds after the lock of the folder is taken, and again after a restart of the process that serves it. */
const SOCKET_WITHIN_MS = 60_000;
const TRY_EVERY_MS = 200;
/** Nothing was sent: the socket is not there yet, or is one that a killed process left. */
const NOT_CONNECTED = new Set(['ENOENT', 'ECONNREFUSED']);

/**
 * Runs the command in the process that has locked the folder, and returns its exit code; null if that process has ended before
 * it received the command.
 */
export async function askThroughSocket(
  dataDir: string,
  words: readonly string[],
  { terminal, clock }: { readonly terminal: Terminal; readonly clock: Clock },
): Promise<number | null> {
  const place = socketPlace(join(dataDir, FILE_NAME));
  const untilMs = clock.uptimeMs() + SOCKET_WITHIN_MS;
  let isWaiting = false;
  try {
    for (;;) {
      try {
        return await ask(place.path, words, terminal);
      } catch (error) {
        const { code = '' } = error as { code?: string };
        if (!NOT_CONNECTED.has(code)) throw error;
        if (!isDataFolderHeld(dataDir)) return null;
      }
      if (clock.uptimeMs() >= untilMs) throw new Error(`it is not ready after ${SOCKET_WITHIN_MS / 1_000} s`);
      if (!isWaiting) terminal.complain('the system is starting, or restarting a part: waiting for it');
      isWaiting = true;
      await clock.sleep(TRY_EVERY_MS);
    }
  } catch (error) {
    throw new StartProblem(
      `the process that holds DATA_DIR ${dataDir} cannot be asked (${describe(error)}): try again, or stop it`,
    );
  } finally {
    place.release();
  }
}

async function ask(path: string, words: readonly string[], terminal: Terminal): Promise<number> {
  const response = await fetch('http://localhost/', {
    unix: path,
    method: 'POST',
    body: JSON.stringify({ words }),
  });
  if (!response.ok) throw new Error(`it answered ${response.status}; is it of another version?`);
  const { exitCode, lines } = answerSchema.parse(await response.json());
  for (const { kind, line } of lines) terminal[kind](line);
  return exitCode;
}

/** Lets the command line work on the embedded database while this process has it open. */
export function openCommandsForOthers(opening: Opening, jobQueue: JobQueue): void {
  const system = openedSystem(opening, jobQueue, () => migrate(opening.database));
  const socket = openControlSocket(opening.configuration.dataDir, system, opening.log);
  opening.whenClosing('control socket', socket.close);
}

/** The context of commands, wherever they run. */
export function openedSystem(
  parts: Parts,
  jobQueue: JobQueue,
  migrate: OpenedSystem['migrate'],
): Omit<CommandContext, 'terminal'> & OpenedSystem {
  const { configuration, clock, secrets, database, sharedState, ownSecrets } = parts;
  return {
    clock,
    secrets,
    database,
    sharedState,
    jobQueue,
    mailOutbox: mailOutbox(parts, jobQueue),
    migrate,
    aliasPrefix: configuration.aliasPrefix,
    isProduction: configuration.isProduction,
    accessTokens: async () => await createAccessTokens(accepted(ownSecrets, 'jwtSecret'), clock),
    // Loaded only by commands that call the provider.
    paymentProvider: async () => (await import('../wiring/open-payments.ts')).openProvider(parts, null),
    payments: async () => {
      const { openPayments } = await import('../wiring/open-payments.ts');
      const { provider, paymentEvents } = openPayments(parts, jobQueue, null);
      return { database, provider, paymentEvents, clock, log: parts.log };
    },
    providers: async () => (await import('../wiring/open-models.ts')).openProviders(parts),
    tableFiles: async (folder) =>
      (await import('../../adapters/table-files/parquet-folder.ts')).openParquetFolder(folder),
    async cipher() {
      const masterKeys = accepted(ownSecrets, 'masterKey');
      const problem = await wrongMasterKey({ database, ownSecrets });
      // A command goes on: it is how providers' keys are entered again after a key was lost.
      if (problem !== null) process.stderr.write(`turnpike: ${problem}\n`);
      return createCipher({ masterKeys, secrets });
    },
    answerCipher: async () => createAnswerCipher({ masterKeys: accepted(ownSecrets, 'masterKey'), secrets }),
  };
}
