import { expect, test } from 'bun:test';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { describePostgres, usePostgres } from '../../../test/setup/use-postgres.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import { addCompany } from '../accounts/company.ts';
import { eraseTalent } from './personal-data.ts';
import { applyCvReading, findWaitingCv } from './read-cv.ts';
import { listTalents } from './talent.ts';
import { createTalent, type NewTalent } from './talent-changes.ts';

describePostgres('with a server', () => {
  const database = usePostgres();
  const clock = createManualClock();
  const secrets = createSystemSecrets();
  const jobQueue = { enqueue: async () => null };

  async function company(): Promise<string> {
    const id = secrets.newId();
    await addCompany(database, { id, name: 'Acme', billingMode: 'PREPAID' });
    return id;
  }

  async function create(companyId: string, from: NewTalent['from']) {
    const created = await database.transaction((transaction) =>
      createTalent(transaction, { clock, secrets, jobQueue }, { companyId, createdBy: null, from }),
    );
    if (created.outcome !== 'created') throw new Error(created.message);
    return created;
  }

  const fileOf = (text: string) => ({ file: { name: 'cv.txt', bytes: new TextEncoder().encode(text) } });
  const all = (companyId: string) => listTalents(database, companyId, { limit: 100, after: null });

  test('P-15 the same file from eight sides at once is one talent', async () => {
    const companyId = await company();
    const created = await Promise.all(Array.from({ length: 8 }, () => create(companyId, fileOf('the same'))));
    expect(new Set(created.map(({ talent }) => talent.id)).size).toBe(1);
    expect(created.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect(await all(companyId)).toHaveLength(1);
  });

  test('P-15 the bytes of a CV go to the database once, and not at all if it has them', async () => {
    const companyId = await company();
    const { file } = fileOf('x'.repeat(100_000));
    let sent = 0;
    const upload = () =>
      database.transaction((transaction) => {
        const counting: typeof transaction = {
          ...transaction,
          query(text, values = []) {
            sent += values.filter((one) => one instanceof Uint8Array && one.length > 1_000).length;
            return transaction.query(text, values);
          },
        };
        return createTalent(
          counting,
          { clock, secrets, jobQueue },
          { companyId, createdBy: null, from: { file } },
        );
      });
    await upload();
    expect(sent).toBe(1);
    await upload();
    expect(sent).toBe(1);
    const [row] = await database.query(
      'select octet_length(bytes) as bytes, sha256 = sha256(bytes) as "isHash" from talent_files where company_id = $1',
      [companyId],
    );
    expect(row).toEqual({ bytes: 100_000, isHash: true });
  });

  test('A-13 a CV that has waited for longer than its tries take is queued again when it is sent again', async () => {
    const companyId = await company();
    const queued: string[] = [];
    const counting = { enqueue: async (queue: string) => String(queued.push(queue)) };
    const upload = () =>
      database.transaction((transaction) =>
        createTalent(
          transaction,
          { clock, secrets, jobQueue: counting },
          { companyId, createdBy: null, from: fileOf('lost') },
        ),
      );
    await upload();
    await upload();
    expect(queued).toEqual(['cv']);
    await clock.advance(3_600_001);
    expect(await upload()).toMatchObject({ isNew: false, talent: { status: 'PENDING' } });
    expect(queued).toEqual(['cv', 'cv']);
  });

  test('P-15 one person in six CVs at once: five are linked to the first', async () => {
    const companyId = await company();
    const profile = { basics: { name: 'Ada', email: 'ada@example.org' } };
    const ids = await Promise.all(
      Array.from(
        { length: 6 },
        async (_, number) => (await create(companyId, fileOf(`CV ${number}`))).talent.id,
      ),
    );
    const reading = {
      outcome: 'read',
      text: 'Ada',
      profile,
      evidence: [],
      document: {},
      engine: 'embedded',
    } as const;
    await Promise.all(
      ids.map(async (id) => {
        const waiting = await findWaitingCv(database, id);
        if (waiting === null) throw new Error('nothing waits');
        await applyCvReading({ database, clock }, waiting, reading);
      }),
    );
    const talents = await all(companyId);
    const first = talents.filter(({ duplicateOf }) => duplicateOf === null);
    expect(first).toHaveLength(1);
    expect(talents.filter(({ duplicateOf }) => duplicateOf === first[0]?.id)).toHaveLength(5);
  });

  test('A-13 a reading that two workers bring at once counts once', async () => {
    const companyId = await company();
    const { talent } = await create(companyId, fileOf('twice'));
    const waiting = await findWaitingCv(database, talent.id);
    if (waiting === null) throw new Error('nothing waits');
    let charges = 0;
    const outcomes = await Promise.all(
      [1, 2, 3].map(() =>
        applyCvReading({ database, clock }, waiting, { outcome: 'failed', problem: 'a scan' }, async () => {
          charges += 1;
        }),
      ),
    );
    expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(['applied', 'outdated', 'outdated']);
    expect(charges).toBe(1);
  });

  test('P-15 a CV that is linked to a person while the person is erased is erased too', async () => {
    const companyId = await company();
    const profile = { basics: { name: 'Eve', email: 'eve@example.org' } };
    const { talent } = await create(companyId, { profile });
    const own = { companyId, talentId: talent.id };
    const { erasing } = await database.transaction(async (transaction) => {
      const from = { profile };
      await createTalent(transaction, { clock, secrets, jobQueue }, { companyId, createdBy: null, from });
      const erasing = database.transaction((other) => eraseTalent(other, own, async () => []));
      erasing.catch(() => {});
      await untilWaiting();
      return { erasing };
    });
    expect((await erasing).outcome).toBe('erased');
    expect(await all(companyId)).toEqual([]);
  });

  async function untilWaiting(): Promise<void> {
    for (;;) {
      const waits = await database.query(
        "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      if (waits.length > 0) return;
    }
  }
});
