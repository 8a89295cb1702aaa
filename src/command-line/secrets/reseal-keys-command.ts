import { resealTotp } from '../../domain/accounts/two-factor.ts';
import { resealChannels } from '../../domain/alerts/channels.ts';
import { resealPayloads } from '../../domain/call-payloads/call-payloads.ts';
import { resealAnswers } from '../../domain/calls/idempotency/idempotent-calls.ts';
import { aliasOf } from '../../domain/models/aliases.ts';
import { resealTargets } from '../../domain/models/targets.ts';
import { resealOwnKeys } from '../../domain/own-keys/own-keys.ts';
import { resealResponses } from '../../domain/stored-responses/stored-responses.ts';
import { type Command, complainOfUsage, EXIT_FAILED, EXIT_OK, type OpenedSystem } from '../command.ts';

/** The number of entries that are encrypted under MASTER_KEY, and complaints about those that cannot be decrypted. */
interface Resealed {
  readonly what: string;
  readonly count: number;
  readonly complaints: readonly string[];
}

type Needs = Pick<OpenedSystem, 'database' | 'sharedState' | 'aliasPrefix' | 'cipher' | 'answerCipher'>;

const UNREADABLE = 'cannot be decrypted with MASTER_KEY or MASTER_KEY_ALSO';

/** Run after all processes have the new MASTER_KEY, and before MASTER_KEY_ALSO is removed: docs/operations.md. */
export const resealKeysCommand: Command = {
  name: 'reseal-keys',
  usage: '',
  summary:
    'Encrypts everything that is stored under MASTER_KEY_ALSO again under MASTER_KEY, so that MASTER_KEY_ALSO can be removed.',
  works: 'on-the-database',
  async run({ terminal, ...system }, words) {
    if (words.length > 0) return complainOfUsage(terminal, resealKeysCommand);
    const all = [...(await resealSecrets(system)), ...(await resealContents(system))];
    for (const { what, count } of all) {
      if (count > 0) terminal.print(`${count} ${what} are encrypted under MASTER_KEY`);
    }
    if (all.every(({ count }) => count === 0)) terminal.print('nothing is encrypted under MASTER_KEY');
    const complaints = all.flatMap((one) => one.complaints);
    for (const complaint of complaints) terminal.complain(complaint);
    return complaints.length > 0 ? EXIT_FAILED : EXIT_OK;
  },
};

async function resealSecrets(system: Needs): Promise<Resealed[]> {
  const { database, sharedState, aliasPrefix } = system;
  const cipher = await system.cipher();
  const targets = await resealTargets({ database, sharedState, cipher });
  const own = await resealOwnKeys({ database, sharedState, cipher });
  const totp = await resealTotp(database, cipher);
  const channels = await database.transaction((transaction) => resealChannels(transaction, cipher));
  return [
    {
      what: 'provider keys',
      count: targets.resealed + own.resealed,
      complaints: [
        ...targets.unreadable.map(
          ({ alias, baseUrl }) =>
            `the key of ${baseUrl} behind ${aliasOf(aliasPrefix, alias)} ${UNREADABLE}: set the alias again`,
        ),
        ...own.unreadable.map(
          ({ alias, companyId }) =>
            `the own key of company ${companyId} for ${aliasOf(aliasPrefix, alias)} ${UNREADABLE}: the company has to store it again`,
        ),
      ],
    },
    {
      what: 'two-factor secrets',
      count: totp.resealed,
      complaints: totp.unreadable.map(
        (userId) => `the two-factor secret of user ${userId} ${UNREADABLE}: run turnpike reset-totp`,
      ),
    },
    {
      what: 'alert channels',
      count: channels.resealed,
      complaints: channels.unreadable.map(
        (id) => `the address of alert channel ${id} ${UNREADABLE}: its owner has to create the channel again`,
      ),
    },
  ];
}

/** Texts of customers, which expire on their own. */
async function resealContents({ database, answerCipher }: Needs): Promise<Resealed[]> {
  const cipher = await answerCipher();
  const contents = [
    { what: 'answers of idempotent calls', rows: await resealAnswers(database, cipher) },
    { what: 'stored responses', rows: await resealResponses({ database, cipher }) },
    { what: 'stored prompts and answers', rows: await resealPayloads(database, cipher) },
  ];
  return contents.map(({ what, rows: { current, unreadable } }) => ({
    what,
    count: current,
    complaints: unreadable === 0 ? [] : [`${unreadable} ${what} ${UNREADABLE}: they are lost, and expire`],
  }));
}
