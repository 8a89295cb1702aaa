import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { createKeyDirectory, type KeyDirectoryParts } from '../../src/domain/keys/key-directory.ts';
import { createKeyRecords } from './key-records.ts';
import { createManualClock } from './manual-clock.ts';
import { createRecordingLog } from './recording-log.ts';
import { createSteeredMessages } from './steered-messages.ts';
import { steerStatements } from './steered-statements.ts';

/** A gateway's look at keys, with everything around it in the hands of a test. */
export async function openKeyDirectory(
  bounds: Pick<KeyDirectoryParts, 'maxEntries' | 'maxUnknownEntries'> = {},
) {
  const clock = createManualClock();
  const records = createKeyRecords();
  const store = steerStatements(records);
  const messages = createSteeredMessages(clock);
  const { log, entries } = createRecordingLog();
  const parts = { database: store, sharedState: messages, clock, secrets: createSystemSecrets(), log };
  const directory = await createKeyDirectory({ ...parts, ...bounds });
  /** As the backend does: stored, then published. */
  async function revoke(hash: string): Promise<void> {
    records.revoke(hash);
    await messages.publish('keys', hash);
  }
  const outcome = async (rawKey: string) => (await directory.find(rawKey)).outcome;
  return { clock, records, store, messages, entries, directory, revoke, outcome };
}
