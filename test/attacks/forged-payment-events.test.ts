import { beforeAll, expect, test } from 'bun:test';
import {
  makeCompany,
  makePurchase,
  openPayments,
  openWebhook,
  type PaymentsUnderTest,
} from '../payments/payments-under-test.ts';
import { paidSession } from '../payments/purchase-facts.ts';
import { RECORDED_AT } from '../payments/recorded-events.ts';
import { useDatabase } from '../setup/use-database.ts';

const SECRET = 'whsec_under_attack';
const database = useDatabase();
let payments: PaymentsUnderTest;
let post: ReturnType<typeof openWebhook>;

beforeAll(() => {
  payments = openPayments(database);
  post = openWebhook(payments, SECRET);
});

function hash(body: string, { secret = SECRET, at = RECORDED_AT } = {}): string {
  return new Bun.CryptoHasher('sha256', secret).update(`${at}.${body}`).digest('hex');
}

test('P-3 an event with a foreign signature, altered, too old or dated ahead, grants no credits', async () => {
  const company = await makeCompany(database);
  const event = paidSession(company, await makePurchase(database, company.id));
  const body = JSON.stringify(event.payload);
  const right = hash(body);
  const t = RECORDED_AT;
  const forged: [string, string][] = [
    [body, ''],
    [body, `t=${t},v1=`],
    [body, `t=${t + 1},v1=${right}`],
    [body, `t=${t},v1=${hash(body, { secret: 'whsec_guessed' })}`],
    [body, `t=${t - 301},v1=${hash(body, { at: t - 301 })}`],
    [body, `t=${t + 301},v1=${hash(body, { at: t + 301 })}`],
    [body.replace('"paid"', '"paid" '), `t=${t},v1=${right}`],
  ];
  for (const [bytes, signature] of forged) {
    const answer = await post(bytes, signature);
    expect([signature, answer.status]).toEqual([signature, 400]);
  }
  expect(await payments.balance(company.id)).toBe(0n);
});
