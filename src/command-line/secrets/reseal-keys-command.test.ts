import { beforeEach, describe, expect, test } from 'bun:test';
import { endOf } from '../../../test/contracts/idempotent-calls.contract.ts';
import { finishedCall } from '../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createSilentLog } from '../../../test/doubles/silent-log.ts';
import { typedCommand } from '../../../test/doubles/typed-command.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { addCompany } from '../../domain/accounts/company.ts';
import { createChannel, openChannel, rotateSecret } from '../../domain/alerts/channels.ts';
import { addPayloads, boundTo, readPayload } from '../../domain/call-payloads/call-payloads.ts';
import { createAnswerCipher } from '../../domain/calls/idempotency/answer-cipher.ts';
import { createIdempotentCalls } from '../../domain/calls/idempotency/idempotent-calls.ts';
import { chargeCalls } from '../../domain/calls/settlement/charge-calls.ts';
import { createCipher } from '../../domain/models/cipher.ts';
import { readCatalogue, setAliasTargets } from '../../domain/models/targets.ts';
import { contentOf } from '../../domain/stored-responses/response-content.ts';
import { createStoredResponses } from '../../domain/stored-responses/stored-responses.ts';
import { EXIT_FAILED, EXIT_OK, EXIT_USAGE } from '../command.ts';
import { resealKeysCommand } from './reseal-keys-command.ts';

const DAY_MS = 24 * 60 * 60_000;
const OLD = 'the master key that is to go, long enough';
const NEW = 'the master key that is to stay, long enough';
const LOST = 'a master key that opens nothing of this';
const ADDRESS = 'https://one.example/v1';
const HOOK = 'https://hooks.example/in?token=1';

const secrets = createSystemSecrets();
const clock = createManualClock();
const database = useDatabase();
const bytes = (text: string) => new TextEncoder().encode(text);

type MasterKeys = readonly [string, ...string[]];

/** The domains as processes with these master keys have them. */
function under(...masterKeys: MasterKeys) {
  const cipher = createCipher({ masterKeys, secrets });
  const answerCipher = createAnswerCipher({ masterKeys, secrets });
  const common = { database, clock, log: createSilentLog(), cipher: answerCipher };
  const bounds = {
    isOn: true,
    keepMs: DAY_MS,
    contentKeepMs: DAY_MS,
    maxBytes: 100_000,
    maxCompanyBytes: 1_000_000,
  };
  return {
    cipher,
    answerCipher,
    responses: createStoredResponses({ ...common, ...bounds }),
    idempotent: createIdempotentCalls({ ...common, maxAnswerBytes: 1_000, keepMs: DAY_MS }),
  };
}

function type(masterKeys: MasterKeys, ...words: string[]) {
  const { cipher, answerCipher } = under(...masterKeys);
  const ciphers = { cipher: async () => cipher, answerCipher: async () => answerCipher };
  return typedCommand({ database, ...ciphers }, resealKeysCommand, ...words);
}

/** One of everything that is encrypted, under the old key. */
async function stored() {
  const { cipher, answerCipher, responses, idempotent } = under(OLD);
  const parts = { database, sharedState: createInProcessState({ clock }), secrets, prefix: 'acme', cipher };
  const target = { baseUrl: ADDRESS, model: 'm', apiKey: 'sk-stored', weight: 1 };
  await setAliasTargets(parts, 'acme/chat-default', [target, { ...target, apiKey: null }]);
  const companyId = secrets.newId();
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'PREPAID' });
  const rules = { webhooks: { addressProblem: async () => null }, allowsHttp: false };
  const channelParts = { secrets, clock, cipher, rules };
  const channel = await database.transaction(async (transaction) => {
    const wanted = { kind: 'WEBHOOK', name: 'hook', isOn: true, eventKinds: null, address: HOOK } as const;
    const made = await createChannel(channelParts, transaction, companyId, wanted);
    if (made.outcome !== 'saved') throw new Error(made.outcome);
    const rotated = await rotateSecret(channelParts, transaction, made.channel);
    if (rotated.outcome !== 'saved') throw new Error(rotated.outcome);
    return { id: made.channel.id, secrets: [rotated.secret ?? '', made.secret ?? ''] };
  });
  const keyId = secrets.newId();
  const content = contentOf({ input: 'Hello' }, { id: 'resp_1', object: 'response', output: [] });
  const newResponse = { id: `resp_${secrets.newId()}`, companyId, targetId: 'target', itemIds: [] };
  const response = await responses.recordOf({ ...newResponse, chargeCallId: null, content });
  const asked = { keyId, idempotencyKey: 'once', sha256: new Uint8Array(32) };
  const claim = { ...asked, callId: secrets.newId() };
  await idempotent.claim(claim);
  const ended = await idempotent.withAnswer(claim, endOf(claim, companyId), {
    contentType: 'text/plain',
    bytes: bytes('Hi'),
  });
  await chargeCalls(database, [ended, finishedCall(companyId, { keyId, response: response ?? undefined })]);
  idempotent.close();
  const payload = { endpoint: 'chat/completions', request: 'Hello', response: null };
  const sealed = await answerCipher.seal(bytes(JSON.stringify(payload)), boundTo(companyId, claim.callId));
  const times = { storedAtMs: clock.now(), expiresAtMs: clock.now() + DAY_MS };
  const known = { callId: claim.callId, companyId, keyId, requestId: 'req_1', endUser: null };
  await addPayloads(database, [{ ...known, sealed, ...times }]);
  return { companyId, channel, asked, responseId: newResponse.id };
}

/** What a process with these master keys can read of it. */
async function readable(row: Awaited<ReturnType<typeof stored>>, ...masterKeys: MasterKeys) {
  const { cipher, answerCipher, responses, idempotent } = under(...masterKeys);
  const { companyId, channel, asked, responseId } = row;
  const { targets } = await readCatalogue(database);
  const sealedKey = targets.find((target) => target.sealedKey !== null)?.sealedKey ?? new Uint8Array();
  const found = await responses.find(companyId, { responseId, itemIds: [] });
  const answer = await idempotent.read(asked);
  const read = {
    key: await cipher.decrypt(sealedKey, ADDRESS).catch(() => null),
    channel: await openChannel(database, cipher, channel.id, new Date(clock.now())).catch(() => null),
    response: found.outcome === 'searched' && found.previous !== null,
    answer: answer !== null && answer !== 'unavailable' ? new TextDecoder().decode(answer.bytes) : null,
    payload: await readPayload({ cipher: answerCipher, clock }, database, companyId, 'req_1'),
  };
  return { ...read, payload: read.payload?.request ?? null };
}

const everything = ({ channel }: Awaited<ReturnType<typeof stored>>) => ({
  ...{ key: 'sk-stored', channel: { url: HOOK, secrets: channel.secrets }, response: true },
  ...{ answer: 'Hi', payload: 'Hello' },
});

const COUNTS = [
  '1 provider keys are encrypted under MASTER_KEY',
  '1 alert channels are encrypted under MASTER_KEY',
  '1 answers of idempotent calls are encrypted under MASTER_KEY',
  '1 stored responses are encrypted under MASTER_KEY',
  '1 stored prompts and answers are encrypted under MASTER_KEY',
];

describe('turnpike reseal-keys', () => {
  beforeEach(async () => {
    for (const table of [
      ...['model_targets', 'alert_channels', 'idempotency_keys', 'stored_responses', 'call_payloads'],
    ])
      await database.query(`delete from ${table}`);
  });

  test('a master key is rotated without an outage: afterwards everything decrypts under the new one alone', async () => {
    const row = await stored();
    expect(await readable(row, NEW, OLD)).toEqual(everything(row));
    const { exitCode, lines } = await type([NEW, OLD]);
    expect([exitCode, lines]).toEqual([EXIT_OK, COUNTS]);
    expect(await readable(row, NEW)).toEqual(everything(row));
    expect((await readable(row, OLD)).payload).toBeNull();
    // Again, without the old one: there is nothing left to do.
    expect(await type([NEW])).toEqual({ exitCode: EXIT_OK, lines: COUNTS });
  });

  test('values that decrypt under neither are named and not changed', async () => {
    const row = await stored();
    const { exitCode, lines } = await type([NEW, LOST]);
    expect(exitCode).toBe(EXIT_FAILED);
    const neither = 'cannot be decrypted with MASTER_KEY or MASTER_KEY_ALSO';
    expect(lines).toEqual([
      'nothing is encrypted under MASTER_KEY',
      `! the key of ${ADDRESS} behind acme/chat-default ${neither}: set the alias again`,
      `! the address of alert channel ${row.channel.id} ${neither}: its owner has to create the channel again`,
      `! 1 answers of idempotent calls ${neither}: they are lost, and expire`,
      `! 1 stored responses ${neither}: they are lost, and expire`,
      `! 1 stored prompts and answers ${neither}: they are lost, and expire`,
    ]);
    expect(await readable(row, OLD)).toEqual(everything(row));
    expect((await type([NEW], 'x')).exitCode).toBe(EXIT_USAGE);
  });

  test('every encrypted column is one of these', async () => {
    const columns = await database.query<{ name: string }>(
      `select table_name || '.' || column_name as name from information_schema.columns
       where table_schema = 'public' and column_name like 'sealed%' order by 1`,
    );
    expect(columns.map(({ name }) => name)).toEqual([
      'alert_channels.sealed_old_secret',
      'alert_channels.sealed_secret',
      'alert_channels.sealed_url',
      // Found by a digest under MASTER_KEY: with another key the cache is empty, and its rows expire.
      'cached_answers.sealed_answer',
      'call_payloads.sealed_payload',
      'idempotency_keys.sealed_answer',
      'model_targets.sealed_headers',
      'model_targets.sealed_key',
      'own_provider_keys.sealed_key',
      'stored_responses.sealed_content',
      'totp_secrets.sealed',
    ]);
  });
});
