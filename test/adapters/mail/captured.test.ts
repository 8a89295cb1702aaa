import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type CapturedMailOptions, openCapturedMail } from '../../../src/adapters/mail/captured.ts';
import { createManualClock } from '../../doubles/manual-clock.ts';
import { message } from './mail-server.ts';

let parent: string;
let folder: string;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'turnpike-mail-'));
  folder = join(parent, 'mail');
});
afterEach(() => rm(parent, { recursive: true, force: true }));

const clock = createManualClock();
const opened = (options: Partial<CapturedMailOptions> = {}) =>
  openCapturedMail({ folder, clock, ...options });

test('a captured message can be listed and read as it was sent', async () => {
  const captured = await opened();
  const sent = message();
  expect(await captured.send(sent)).toEqual({ outcome: 'accepted' });
  const [head] = await captured.list(10);
  expect(head).toEqual({
    id: expect.stringMatching(/^\d{13}-[0-9a-f]{16}$/),
    messageId: sent.messageId,
    from: 'Türnpike, "the" <gateway> <no-reply@mail.example>',
    to: sent.to,
    subject: sent.subject,
    capturedAt: expect.any(Date),
    bytes: expect.any(Number),
  });
  const read = await captured.read(head?.id ?? '');
  expect(read).toMatchObject({ ...head, text: 'Hello\n.\n..dots', html: sent.html });
  expect(read?.eml).toBe(await readFile(join(folder, `${head?.id}.eml`), 'utf8'));
});

test('captured mail is readable by its owner only', async () => {
  const captured = await opened();
  await captured.send(message());
  const [file = ''] = await readdir(folder);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
});

test('A-13 a message repeated under its Message-ID is stored once', async () => {
  const captured = await opened();
  const sent = message();
  await captured.send(sent);
  await captured.send(message());
  await captured.send(sent);
  const listed = await captured.list(10);
  expect(listed).toHaveLength(2);
  expect(listed.filter(({ messageId }) => messageId === sent.messageId)).toHaveLength(1);
});

test('the list is the newest first, in pages, also of one millisecond and after a restart', async () => {
  const captured = await opened();
  for (let n = 0; n < 7; n += 1) await captured.send(message({ subject: `n${n}` }));
  const again = await opened();
  const seen: string[] = [];
  for (let after: string | undefined; ; ) {
    const page = await again.list(3, after);
    if (page.length === 0) break;
    seen.push(...page.map(({ subject }) => subject));
    after = page.at(-1)?.id;
  }
  expect(seen).toEqual(['n6', 'n5', 'n4', 'n3', 'n2', 'n1', 'n0']);
  expect(await again.list(0)).toEqual([]);
});

test('the oldest are removed, by number and by bytes; the newest stays', async () => {
  const few = await opened({ maxMessages: 3 });
  for (let n = 0; n < 6; n += 1) await few.send(message({ subject: `n${n}` }));
  expect((await few.list(10)).map(({ subject }) => subject)).toEqual(['n5', 'n4', 'n3']);
  const small = await opened({ maxBytes: 30_000 });
  for (let n = 6; n < 9; n += 1) await small.send(message({ subject: `n${n}`, text: 'x'.repeat(12_000) }));
  expect((await small.list(10)).map(({ subject }) => subject)).toEqual(['n8', 'n7']);
  const tiny = await opened({ maxBytes: 10 });
  await tiny.send(message({ subject: 'n9' }));
  expect((await tiny.list(10)).map(({ subject }) => subject)).toEqual(['n9']);
});

test('only ids of captured mail are read', async () => {
  const captured = await opened();
  await writeFile(join(parent, 'secrets.json'), '{}');
  for (const id of ['../secrets.json', '', '/etc/passwd', `${'0'.repeat(13)}-${'a'.repeat(16)}`]) {
    expect(await captured.read(id)).toBeNull();
  }
});

test('a partly written file left by a crash is no message, and other files are not changed', async () => {
  const first = await opened();
  await first.send(message());
  const [name = ''] = await readdir(folder);
  await writeFile(join(folder, `${name}.unfinished`), 'half');
  await writeFile(join(folder, 'notes.txt'), 'mine');
  await writeFile(join(folder, `${'1'.repeat(13)}-${'b'.repeat(16)}.eml`), 'not a mail at all');
  const captured = await opened();
  expect((await readdir(folder)).sort()).toEqual(
    [`${'1'.repeat(13)}-${'b'.repeat(16)}.eml`, name, 'notes.txt'].sort(),
  );
  expect((await captured.list(10)).map(({ subject }) => subject)).toEqual(['Grüße 😀', '']);
});

test('a folder that cannot be written is a temporary failure', async () => {
  const captured = await opened();
  await rm(folder, { recursive: true });
  await writeFile(folder, 'in the way');
  expect(await captured.send(message())).toEqual({
    outcome: 'failed',
    reason: 'the folder of captured mail cannot be written (ENOTDIR)',
  });
  await captured.close(0);
});
