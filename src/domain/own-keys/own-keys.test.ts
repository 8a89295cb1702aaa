import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { until } from '../../../test/doubles/until.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { addCompany } from '../accounts/company.ts';
import { holdsFor, recordOf, sizeOfText } from '../model-calls/paid-call.ts';
import { checkByokFee, percentOfFee } from '../models/byok-fee.ts';
import { updateAlias } from '../models/change-alias.ts';
import { createCipher } from '../models/cipher.ts';
import { createModelDirectory, type ModelDirectory } from '../models/model-directory.ts';
import { setAliasTargets } from '../models/targets.ts';
import { createOwnKeyDirectory, type OwnKeyDirectory } from './own-key-directory.ts';
import {
  deleteOwnKey,
  listOwnKeys,
  MOST_OWN_KEYS,
  openOwnKey,
  readOwnKeys,
  resealOwnKeys,
  setOwnKey,
} from './own-keys.ts';

const ALIAS = 'svc/chat-default';
const NAME = 'chat-default';
const secrets = createSystemSecrets();
const cipherUnder = (...masterKeys: [string, ...string[]]) => createCipher({ masterKeys, secrets });
const cipher = cipherUnder('the master key of these tests, long enough');
const OWN = 'sk-own-key-of-acme-1234';
const target = (host: string) => {
  const headers = { 'openai-organization': 'the-operators' };
  return { baseUrl: `https://${host}/v1`, model: 'm', apiKey: 'sk-operator', weight: 1, headers };
};

describe('own provider keys', () => {
  const database = useDatabase();
  const clock = createManualClock();
  const { log, entries } = createRecordingLog();
  const sharedState = createInProcessState({ clock });
  const parts = { database, sharedState, secrets, cipher, log, clock, prefix: 'svc' };
  let companyId = '';
  let otherId = '';
  let models: ModelDirectory;
  let ownKeys: OwnKeyDirectory;

  beforeEach(async () => {
    await database.query('delete from own_provider_keys');
    [companyId, otherId] = [secrets.newId(), secrets.newId()];
    for (const id of [companyId, otherId])
      await addCompany(database, { id, name: id, billingMode: 'PREPAID' });
    await setAliasTargets(parts, ALIAS, [target('one.example'), target('two.example')]);
    await allow(100_000);
    models = await createModelDirectory({ ...parts, embeddedAllowed: false });
    ownKeys = await createOwnKeyDirectory(parts);
  });
  afterEach(async () => void (await Promise.all([models.close(), ownKeys.close()])));

  async function allow(millionths: number | null) {
    const byokFeePercent = millionths === null ? null : percentOfFee(millionths);
    await updateAlias(parts, { alias: ALIAS, byokFeePercent });
  }
  const store = (host: string | null, apiKey = OWN, company = companyId) =>
    setOwnKey(parts, { companyId: company, alias: NAME, host, apiKey, now: new Date(clock.now()) });
  const listed = () => {
    const alias = models.find(ALIAS);
    if (alias === null) throw new Error('no alias');
    return alias;
  };
  const own = (company = companyId) => ownKeys.aliasFor(company, listed());
  const used = () => own().targets.map(({ host, apiKey }) => `${host} ${apiKey}`);

  test('are stored encrypted, listed without the key, replaced and deleted', async () => {
    expect(await store('one.example')).toMatchObject({ outcome: 'stored', isNew: true });
    const replaced = await store('one.example', 'sk-another-own-key-5678');
    expect(replaced).toMatchObject({ outcome: 'stored', isNew: false, key: { lastFour: '5678' } });
    const [key, ...more] = await listOwnKeys(database, companyId);
    expect(more).toEqual([]);
    expect(JSON.stringify(key)).not.toContain('sk-');
    const rows = await database.query('select * from own_provider_keys');
    expect(
      rows.map(({ sealed_key }) => new TextDecoder().decode(sealed_key as Uint8Array)).join(),
    ).not.toContain('sk-');
    const id = key?.id ?? '';
    expect(await deleteOwnKey(parts, { companyId: otherId, id })).toBeNull();
    expect(await deleteOwnKey(parts, { companyId, id })).toMatchObject({ id });
    expect(await listOwnKeys(database, companyId)).toEqual([]);
  });

  test('an invalid key is refused with advice, without the key', async () => {
    expect(await store(null)).toMatchObject({ problem: expect.stringContaining('one.example, two.example') });
    expect(await store('three.example')).toMatchObject({ outcome: 'wrong-host' });
    for (const wrong of ['short', 'with a space', `line\nbreak-${OWN}`, 'x'.repeat(5_000)]) {
      const said = await store('one.example', wrong);
      expect(said.outcome).toBe('wrong-key');
      expect(JSON.stringify(said)).not.toContain(wrong);
    }
    await allow(null);
    expect(await store('one.example')).toEqual({ outcome: 'not-allowed' });
    expect(await listOwnKeys(database, companyId)).toEqual([]);
  });

  test('a company has a maximum number of them', async () => {
    await database.query(
      `insert into own_provider_keys (id, company_id, alias, origin, sealed_key, last_four, created_at, changed_at)
       select gen_random_uuid(), $1, 'a' || n, 'https://x.example', 'x', '', now(), now() from generate_series(1, $2::integer) as n`,
      [companyId, MOST_OWN_KEYS],
    );
    expect(await store('one.example')).toMatchObject({ outcome: 'too-many' });
    expect(await store('one.example', OWN, otherId)).toMatchObject({ outcome: 'stored' });
  });

  test('only targets with an own key are left, with that key and without the operator’s headers', async () => {
    expect(own()).toBe(listed());
    await store('two.example');
    await until(() => own() !== listed());
    expect(used()).toEqual([`two.example ${OWN}`]);
    expect(JSON.stringify(own().targets)).not.toContain('operator');
    expect(own().targets[0]?.id).toBe(listed().targets[1]?.id ?? '');
    // No other company is affected, and the same object is returned until something changes.
    expect(own(otherId)).toBe(listed());
    expect(own()).toBe(own());
    await store('one.example', 'sk-second-own-key');
    await until(() => used().length === 2);
    expect(used()).toEqual(['one.example sk-second-own-key', `two.example ${OWN}`]);
    expect(JSON.stringify(entries)).not.toContain('sk-');
  });

  test('a change whose message was lost applies within a second; after the last is deleted it is the operator’s alias', async () => {
    const stored = await store('one.example');
    if (stored.outcome !== 'stored') throw new Error('not stored');
    await until(() => own() !== listed());
    await deleteOwnKey(
      { database, sharedState: { publish: async () => {} } },
      { companyId, id: stored.key.id },
    );
    expect(own()).not.toBe(listed());
    await clock.advance(600);
    await until(() => own() === listed());
  });

  test('where own keys are no longer allowed, or the host has changed, nothing of the operator’s is used', async () => {
    await store('one.example');
    await until(() => own().ownKey !== undefined);
    expect(own().ownKey).toMatchObject({ problem: null, chargeShareMillionths: 100_000 });
    await setAliasTargets(parts, ALIAS, [target('two.example')]);
    await until(() => own().ownKey?.problem === 'no-key-for-provider');
    expect(own().targets).toEqual([]);
    await allow(null);
    await until(() => own().ownKey?.problem === 'not-allowed');
    expect(own().targets).toEqual([]);
  });

  test('a row moved to another company or host in the database cannot be decrypted', async () => {
    await store('one.example');
    await until(() => own() !== listed());
    for (const change of ['company_id = $1', "origin = 'https://two.example', company_id = $1"]) {
      await database.query(`update own_provider_keys set ${change}`, [otherId]);
      await sharedState.publish('own-keys', '');
      await until(() => own(otherId).ownKey?.problem === 'unreadable');
      expect(JSON.stringify(own(otherId).targets)).not.toContain(OWN);
    }
  });

  test('a key that cools down or fails changes the order of that company’s targets and of no other', async () => {
    await store('one.example');
    await store('two.example');
    await store('one.example', OWN, otherId);
    await store('two.example', OWN, otherId);
    const hasBoth = (company: string) =>
      own(company).ownKey !== undefined && own(company).targets.length === 2;
    await until(() => hasBoth(companyId) && hasBoth(otherId));
    const [first, second] = own().targets.map(({ id }) => id);
    own().ownKey?.states.cool(first ?? '', '401', null);
    const order = (company: string) =>
      own(company)
        .ownKey?.states.order(own(company), 0)
        .map(({ id }) => id);
    expect(order(companyId)).toEqual([second ?? '', first ?? '']);
    expect(order(otherId)).toEqual([first ?? '', second ?? '']);
    expect(models.order(listed(), 0).map(({ id }) => id)).toEqual([first ?? '', second ?? '']);
    expect(models.cooling()).toEqual([]);
    await clock.advance(61_000);
    expect(order(companyId)).toEqual([first ?? '', second ?? '']);
  });

  test('keys are encrypted again under another master key', async () => {
    await store('one.example');
    const [oldKey, newKey] = [
      'the master key of these tests, long enough',
      'the next master key, which is as long',
    ];
    const both = cipherUnder(newKey, oldKey);
    expect(await resealOwnKeys({ database, sharedState, cipher: both })).toMatchObject({ resealed: 1 });
    const { keys } = await readOwnKeys(database);
    expect(await Promise.all(keys.map((key) => openOwnKey(cipherUnder(newKey), key)))).toEqual([OWN]);
    expect((await resealOwnKeys({ database, sharedState, cipher })).unreadable).toHaveLength(1);
  });

  test('a call holds and is charged the fee’s share; one without a fee holds nothing', async () => {
    const size = sizeOfText(4_000_000);
    const payer = { companyId, keyId: null, monthlyLimitMicro: null, startedAtMs: clock.now(), userId: null };
    const holds = { of: (_payer: unknown, amount: number) => [{ amount }] as never };
    const held = () => holdsFor(holds, payer, { alias: own(), size }).map(({ amount }) => amount);
    const [whole = 0] = held();
    await store('one.example');
    await until(() => own().ownKey?.problem === null);
    expect(held()).toEqual([Math.ceil(whole / 10)]);
    const facts = { requestId: 'r', endpoint: 'e', streamed: false, nowMs: 0, prompts: 1, choices: 1 };
    const ending = {
      outcome: 'SUCCEEDED',
      reason: null,
      httpStatus: 200,
      targetId: null,
      tokens: null,
      firstByteMs: 0,
    } as const;
    const record = recordOf({ id: 'i', payer, alias: own(), estimatedTokens: 0 }, facts, ending);
    expect(record).toMatchObject({ ownKey: true, chargeShareMillionths: 100_000 });
    const cached = { ...ending, cacheHit: true, chargeShareMillionths: 500_000 };
    const hit = recordOf({ id: 'i', payer, alias: own(), estimatedTokens: 0 }, facts, cached);
    expect([hit.ownKey, hit.chargeShareMillionths]).toEqual([undefined, 50_000]);
    expect(
      recordOf({ id: 'i', payer, alias: listed(), estimatedTokens: 0 }, facts, ending).ownKey,
    ).toBeUndefined();
    await allow(0);
    await until(() => own().ownKey?.chargeShareMillionths === 0);
    expect(held()).toEqual([]);
  });

  test.each([
    [0, 0],
    [12.5, 125_000],
    [0.0001, 1],
    [100, 1_000_000],
  ])('a fee of %d percent is %d millionths', (percent, millionths) => {
    expect(checkByokFee(percent)).toEqual({ outcome: 'fine', millionths });
  });

  test.each([-1, 100.1, 0.00001, Number.NaN, Number.POSITIVE_INFINITY])('%d percent fails', (percent) => {
    expect(checkByokFee(percent).outcome).toBe('wrong');
  });
});
