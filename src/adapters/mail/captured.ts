import { createHash } from 'node:crypto';
import { chmod, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../ports/clock.ts';
import type { CapturedHead, CapturedMail, CapturedMessage, Mail } from '../../ports/mail.ts';
import { composeMessage, readEml } from './mime-message.ts';

export interface CapturedMailOptions {
  readonly folder: string;
  readonly clock: Clock;
  readonly maxMessages?: number;
  readonly maxBytes?: number;
}

interface CapturedFile {
  readonly id: string;
  readonly path: string;
}

/** The time in milliseconds, up to the year 2096, so that names sort by it, and a hash of the Message-ID. */
const FILE_NAME = /^([0-3]\d{12}-[0-9a-f]{16})\.eml$/;
const MAX_LISTED = 100;

/**
 * Stores mail in a folder instead of sending it: one file per message, readable by its owner only, which any mail
 * program can open. The oldest messages are removed to make room for new ones. A message with a known Message-ID
 * replaces the earlier one, so that a message repeated after a crash is stored once.
 */
export async function openCapturedMail(options: CapturedMailOptions): Promise<Mail & CapturedMail> {
  const { folder, clock, maxMessages = 500, maxBytes = 50 * 1024 * 1024 } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  for (const name of await readdir(folder)) {
    if (name.endsWith('.unfinished')) await rm(join(folder, name), { force: true });
  }
  // New messages sort after the existing ones, even if the clock was set back.
  let lastMs = Math.max(0, ...(await listFiles()).slice(0, 1).map(({ id }) => msOf(id)));
  let writing: Promise<unknown> = Promise.resolve();

  /** Newest first. */
  async function listFiles(): Promise<CapturedFile[]> {
    const ids = (await readdir(folder)).flatMap((name) => FILE_NAME.exec(name)?.[1] ?? []);
    return ids
      .sort()
      .reverse()
      .map((id) => ({ id, path: pathOf(id) }));
  }

  function pathOf(id: string): string {
    return join(folder, `${id}.eml`);
  }

  async function write(messageId: string, raw: Buffer): Promise<void> {
    const mark = createHash('sha256').update(messageId).digest('hex').slice(0, 16);
    const earlier = (await listFiles()).find(({ id }) => id.endsWith(mark));
    // Two messages of the same millisecond keep their order.
    lastMs = Math.max(clock.now(), lastMs + 1);
    const id = earlier?.id ?? `${String(lastMs).padStart(13, '0')}-${mark}`;
    await writeWhole(pathOf(id), raw);
    await removeOldest();
  }

  async function removeOldest(): Promise<void> {
    let bytes = 0;
    for (const [place, { path }] of (await listFiles()).entries()) {
      bytes += (await sizeOf(path)) ?? 0;
      // The newest message is kept, whatever its size.
      if (place >= maxMessages || (place > 0 && bytes > maxBytes)) await rm(path, { force: true });
    }
  }

  async function load({ id, path }: CapturedFile): Promise<CapturedMessage | null> {
    const eml = await readFile(path, 'utf8').catch(() => null);
    if (eml === null) return null;
    const capturedAt = new Date(msOf(id));
    return { id, capturedAt, bytes: Buffer.byteLength(eml), ...readEml(eml), eml };
  }

  return {
    async send(message) {
      const composed = await composeMessage(message);
      if (composed.outcome === 'refused') return composed;
      const written = writing.then(() => write(message.messageId, composed.raw));
      writing = written.catch(() => {});
      return await written.then(
        () => ({ outcome: 'accepted' as const }),
        (error: NodeJS.ErrnoException) => ({
          outcome: 'failed' as const,
          reason: `the folder of captured mail cannot be written (${error.code ?? error.name})`,
        }),
      );
    },
    close: async () => void (await writing),
    async list(limit, after) {
      const files = await listFiles();
      const rest = after === undefined ? files : files.filter(({ id }) => id < after);
      const page = rest.slice(0, Math.max(0, Math.min(limit, MAX_LISTED)));
      const loaded = await Promise.all(page.map(load));
      return loaded.filter((one) => one !== null).map(headOf);
    },
    async read(id) {
      // The id comes from outside: only a valid name becomes a path.
      return FILE_NAME.test(`${id}.eml`) ? await load({ id, path: pathOf(id) }) : null;
    },
  };
}

function msOf(id: string): number {
  return Number(id.slice(0, 13));
}

function headOf({ id, messageId, from, to, subject, capturedAt, bytes }: CapturedMessage): CapturedHead {
  return { id, messageId, from, to, subject, capturedAt, bytes };
}

/** Writes the whole file or nothing, and to disk before the message counts as accepted. */
async function writeWhole(path: string, raw: Buffer): Promise<void> {
  const unfinished = `${path}.unfinished`;
  const file = await open(unfinished, 'w', 0o600);
  try {
    await file.writeFile(raw);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(unfinished, path);
}

async function sizeOf(path: string): Promise<number | null> {
  return await stat(path).then(
    ({ size }) => size,
    () => null,
  );
}
