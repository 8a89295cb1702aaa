import { describe, expect, test } from 'bun:test';
import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import { removeMember } from '../../src/domain/accounts/members.ts';
import { chargeCalls } from '../../src/domain/calls/settlement/charge-calls.ts';
import {
  type AlertSettingsParams,
  listAlerts,
  readAlertSettings,
  setAlertSettings,
} from '../../src/domain/credits/alerts/alert-settings.ts';
import {
  type AlertMail,
  createAlertHandler,
  createAlertMails,
} from '../../src/domain/credits/alerts/dispatch-alerts.ts';
import type { Database } from '../../src/ports/database.ts';
import { finishedCall } from '../doubles/finished-calls.ts';
import { addTestCompany, addTestUser, postTo } from '../doubles/test-company.ts';

const DEFAULTS: AlertSettingsParams = {
  ...{ version: null, isOn: true, isMailed: true },
  balanceThresholdsMicro: null,
  limitPercents: null,
  receivers: null,
};
const NOW = new Date('2030-01-01T00:00:00Z');

/** What a company's own alert settings guarantee, on one engine. A call of finishedCall costs 76 micro-credits. */
export function alertSettingsContract(engine: string, given: () => Database): void {
  const { newId } = createSystemSecrets();

  const company = () => addTestCompany(given());
  const person = (companyId: string, email: string, role?: string) =>
    addTestUser(given(), companyId, email, role);
  const post = (accountId: string, amountMicro: bigint) => postTo(given(), accountId, amountMicro);
  const set = (companyId: string, wanted: Partial<AlertSettingsParams>) =>
    given().transaction((transaction) =>
      setAlertSettings(transaction, companyId, { ...DEFAULTS, ...wanted }, NOW),
    );
  const raised = async (companyId: string) =>
    (
      await given().query<{ kind: string; subject: string; percent: number }>(
        `select kind, subject, threshold_percent as percent from credit_alerts
       where company_id = $1 order by kind, percent desc, subject`,
        [companyId],
      )
    ).map(({ kind, subject, percent }) => [kind, subject, percent]);

  /** Whom an alert of the company is mailed to, and what the mail says. */
  async function mailsOf(companyId: string, subject = ''): Promise<AlertMail[]> {
    const mails: AlertMail[] = [];
    const receive = createAlertMails({ send: async (mail) => void mails.push(mail) });
    const handle = createAlertHandler({ database: given(), receive });
    const data = { companyId, kind: 'LOW_BALANCE', subject, thresholdPercent: 20, episode: '1' };
    await handle({ id: 'job', data, attempt: 1, signal: new AbortController().signal });
    return mails;
  }

  describe(`alert settings on ${engine}`, () => {
    test('P-15 a company’s own balance thresholds raise alerts on charges and postings, each once per top-up', async () => {
      const [id, other] = [await company(), await company()];
      await set(id, { balanceThresholdsMicro: [100n, 950n, 0n] });
      await post(id, 1_000n);
      await post(other, 1_000n);
      await chargeCalls(given(), [finishedCall(id)]);
      expect(await raised(id)).toEqual([['LOW_BALANCE', '950', 95]]);
      await post(id, -900n);
      await post(other, -900n);
      const all = [
        ['LOW_BALANCE', '950', 95],
        ['LOW_BALANCE', '100', 10],
      ];
      expect(await raised(id)).toEqual(all);
      await set(id, {});
      await set(id, { balanceThresholdsMicro: [950n, 100n] });
      await chargeCalls(given(), [finishedCall(id)]);
      expect(await raised(id)).toEqual(all);
      expect(await raised(other)).toEqual([['LOW_BALANCE', '', 20]]);
      await post(id, 1_050n);
      await chargeCalls(given(), [finishedCall(id)]);
      expect(await raised(id)).toHaveLength(3);
      expect(await listAlerts(given(), id)).toContainEqual(
        expect.objectContaining({ kind: 'LOW_BALANCE', thresholdMicro: 100n, thresholdPercent: 10 }),
      );
    });

    test('P-15 a company’s own percentages apply to its credit limit and to the limits of its keys', async () => {
      const id = await company();
      await given().query('update credit_accounts set line_micro = 300 where id = $1', [id]);
      await set(id, { limitPercents: [100, 25] });
      const keyId = newId();
      await chargeCalls(given(), [finishedCall(id, { keyId, monthlyLimitMicro: 152n })]);
      const first = [
        ['CREDIT_LINE', '', 25],
        ['KEY_SPENDING', keyId, 25],
      ];
      expect(await raised(id)).toEqual(first);
      await chargeCalls(given(), [finishedCall(id, { keyId, monthlyLimitMicro: 152n })]);
      expect(await raised(id)).toEqual([first[0], ['KEY_SPENDING', keyId, 100], first[1]] as typeof first);
    });

    test('P-15 an alert stores the balance, or the spending of the key, of the commit that raised it', async () => {
      const id = await company();
      await post(id, 380n);
      const limited = { keyId: newId(), monthlyLimitMicro: 380n };
      const calls = Array.from({ length: 5 }, () => finishedCall(id, limited));
      for (const group of [calls.slice(0, 3), calls.slice(3, 4), calls.slice(4)]) {
        await chargeCalls(given(), group);
      }
      await post(id, 10_000n);
      const kept = await given().query(
        `select kind, threshold_percent as percent, balance_micro as balance, topped_up_micro as "toppedUp",
           spent_micro as spent
         from credit_alerts where company_id = $1 order by kind, percent desc`,
        [id],
      );
      const raisedAt = (balance: bigint, spent: bigint | null) => ({ balance, toppedUp: 380n, spent });
      expect([...kept]).toEqual([
        { kind: 'KEY_SPENDING', percent: 100, ...raisedAt(0n, 380n) },
        { kind: 'KEY_SPENDING', percent: 80, ...raisedAt(76n, 304n) },
        { kind: 'LOW_BALANCE', percent: 20, ...raisedAt(76n, null) },
        { kind: 'LOW_BALANCE', percent: 5, ...raisedAt(0n, null) },
        { kind: 'LOW_BALANCE', percent: 0, ...raisedAt(0n, null) },
      ]);
    });

    test('P-15 while alerts are off none is raised, and waiting ones are not mailed', async () => {
      const id = await company();
      await person(id, `admin@${id}.example`, 'COMPANY_ADMIN');
      await set(id, { isOn: false });
      await post(id, 100n);
      await chargeCalls(given(), [finishedCall(id, { keyId: newId(), monthlyLimitMicro: 1n })]);
      await post(id, -24n);
      expect(await raised(id)).toEqual([]);
      expect(await mailsOf(id)).toEqual([]);
      await set(id, {});
      expect(await mailsOf(id)).toHaveLength(1);
    });

    test('P-15 the chosen receivers are mailed while they belong to the company, then its admins', async () => {
      const [id, other] = [await company(), await company()];
      const address = (name: string) => `${name}@${id}.example`;
      await person(id, address('admin'), 'COMPANY_ADMIN');
      const [books, owner] = [await person(id, address('books')), await person(id, address('owner'))];
      await person(other, address('stranger'));
      const mailedTo = async () => (await mailsOf(id)).map(({ to }) => to);
      const chosen = [address('BOOKS'), address('owner'), address('books')];
      expect(await set(id, { receivers: chosen })).toMatchObject({ outcome: 'set' });
      const { receivers } = await readAlertSettings(given(), id);
      expect(receivers?.map((one) => one.id)).toEqual([books, owner]);
      expect(await mailedTo()).toEqual([address('books'), address('owner')]);
      const leave = (userId: string) =>
        given().transaction((transaction) => removeMember(transaction, { companyId: id, userId, now: NOW }));
      await leave(books);
      expect(await mailedTo()).toEqual([address('owner')]);
      await leave(owner);
      expect(await mailedTo()).toEqual([address('admin')]);
      expect(await readAlertSettings(given(), id)).toMatchObject({ receivers: null });
      for (const name of ['books', 'stranger', 'nobody']) {
        expect(await set(id, { receivers: [address('admin'), address(name)] })).toEqual({
          outcome: 'refused',
          field: 'receivers',
          problem: 'number 2 is not the address of one of your people; invite them first',
        });
      }
    });

    const wrong: [Partial<AlertSettingsParams>, string, RegExp][] = [
      [{ balanceThresholdsMicro: [] }, 'balanceThresholds', /1 to 5/],
      [{ balanceThresholdsMicro: [1n, 2n, 3n, 4n, 5n, 6n] }, 'balanceThresholds', /1 to 5/],
      [{ balanceThresholdsMicro: [-1n] }, 'balanceThresholds', /zero or more/],
      [{ balanceThresholdsMicro: [7n, 7n] }, 'balanceThresholds', /once/],
      [{ limitPercents: [0] }, 'limitPercents', /1 to 100/],
      [{ limitPercents: [101] }, 'limitPercents', /1 to 100/],
      [{ limitPercents: [] }, 'limitPercents', /1 to 5/],
      [{ receivers: [] }, 'receivers', /1 to 10/],
      [{ receivers: Array.from({ length: 11 }, () => 'a@b.example') }, 'receivers', /1 to 10/],
    ];
    test('P-15 an invalid setting is refused with its field, and nothing is changed', async () => {
      const id = await company();
      const { settings } = (await set(id, { balanceThresholdsMicro: [5n, 9n] })) as { settings: object };
      expect(settings).toEqual({
        ...{ version: 1, isOn: true, isMailed: true },
        ...{ balanceThresholdsMicro: [9n, 5n], limitPercents: [80, 100], receivers: null },
      });
      for (const [wanted, field, words] of wrong) {
        const refused = await set(id, wanted);
        expect(refused).toMatchObject({ outcome: 'refused', field });
        expect((refused as { problem: string }).problem).toMatch(words);
      }
      expect(await readAlertSettings(given(), id)).toEqual(settings as never);
    });
  });
}
