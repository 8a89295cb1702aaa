import { afterEach, describe, expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../../adapters/shared-state/in-process.ts';
import { createCipher, masterKeyIds } from '../../domain/models/cipher.ts';
import { addAliasTarget, resealTargets } from '../../domain/models/targets.ts';
import type { SecretsInUse } from '../settings/secrets.ts';
import { checkMasterKey, secretsFindings } from './check-master-key.ts';

const [RIGHT, OTHER, LOST] = ['r', 'o', 'l'].map((letter) => letter.repeat(32)) as [string, string, string];
const database = useDatabase();
const clock = createManualClock();
const secrets = createSystemSecrets();
const sharedState = createInProcessState({ clock });

const using = (masterKey: string | null, also: string | null = null) =>
  ({ masterKey, also: { masterKey: also } }) as SecretsInUse;
const partsWith = (masterKey: string) => {
  const cipher = createCipher({ masterKeys: [masterKey], secrets });
  return { database, sharedState, secrets, prefix: 'svc', cipher };
};
async function storeKeyUnder(masterKey: string): Promise<void> {
  const target = { baseUrl: `https://${secrets.newId()}.example/v1`, model: 'm', apiKey: 'sk-1', weight: 1 };
  const added = await addAliasTarget(partsWith(masterKey), 'svc/chat-default', target);
  expect(added.outcome).toBe('changed');
}
async function checked(ownSecrets: SecretsInUse) {
  const { log, entries } = createRecordingLog();
  const problem = await checkMasterKey({ database, ownSecrets, log }).then(
    () => null,
    (error: Error) => `${error.name} ${error.message}`,
  );
  return { problem, warned: entries };
}
afterEach(() => database.query('delete from model_targets'));

describe('the MASTER_KEY at the start of a process', () => {
  test('opens none of what is stored: the process does not start, and says which key it wants', async () => {
    await storeKeyUnder(RIGHT);
    const [right, other, lost] = await masterKeyIds([RIGHT, OTHER, LOST]);
    const { problem } = await checked(using(OTHER, LOST));
    expect(problem).toStartWith(`StartProblem MASTER_KEY has the id ${other}, ${lost} and opens none`);
    expect(problem).toContain(
      `provider keys (${right}). Set MASTER_KEY, or MASTER_KEY_ALSO, to the key with the id ${right}`,
    );
    for (const key of [RIGHT, OTHER, LOST]) expect(problem).not.toContain(key);
  });

  test('is new, beside the old one: both start until nothing is stored under the old one', async () => {
    await storeKeyUnder(RIGHT);
    expect(await checked(using(RIGHT, OTHER))).toEqual({ problem: null, warned: [] });
    expect(await checked(using(OTHER, RIGHT))).toEqual({ problem: null, warned: [] });
    const cipher = createCipher({ masterKeys: [OTHER, RIGHT], secrets });
    await resealTargets({ ...partsWith(OTHER), cipher });
    expect(await checked(using(OTHER))).toEqual({ problem: null, warned: [] });
    expect((await checked(using(RIGHT))).problem).toContain('opens none');
  });

  test('opens a part: the process starts, warns with the ids, and health shows it within a minute', async () => {
    expect(await checked(using(RIGHT))).toEqual({ problem: null, warned: [] });
    const findings = secretsFindings({ database, ownSecrets: using(RIGHT), clock });
    await storeKeyUnder(RIGHT);
    expect(await findings()).toEqual({ isWell: true, figures: { unreadable: 0 } });
    await storeKeyUnder(LOST);
    const { problem, warned } = await checked(using(RIGHT));
    expect([problem, warned.length]).toEqual([null, 1]);
    const [lost] = await masterKeyIds([LOST]);
    expect(warned[0]).toMatchObject({ level: 'warn', context: { unreadable: `provider keys (${lost})` } });
    await clock.advance(60_000);
    expect(await findings()).toEqual({ isWell: false, figures: { unreadable: 1 } });
  });

  test('of a process that opens no secret is not looked at', async () => {
    await storeKeyUnder(RIGHT);
    expect(await checked(using(null))).toEqual({ problem: null, warned: [] });
  });
});
