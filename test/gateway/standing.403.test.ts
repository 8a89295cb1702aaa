import { describe, expect, test } from 'bun:test';
import { COMPANIES_TOPIC } from '../../src/domain/credits/ledger/credit-account.ts';
import { until } from '../doubles/until.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, post, refusalOf } from './gateway-under-test.ts';
import { chatAnswer } from './scripted-upstream.ts';

const body = { model: 'svc/chat-default', messages: [] };
const DAY_MS = 86_400_000;

const gateway = useResource(() => openGateway({ billingMode: 'POSTPAID', balanceMicro: 0n }));

const send = (rawKey: string, sent: unknown = body) => post(`${gateway.url}/chat/completions`, rawKey, sent);
const tell = () => gateway.parts.sharedState.publish(COMPANIES_TOPIC, gateway.companyId);

async function invoice(dueInMs: number): Promise<string> {
  const { database, secrets, clock } = gateway.parts;
  const id = secrets.newId();
  await database.query(
    `insert into invoices (id, company_id, kind, status, amount_minor, currency, due_at)
     values ($1, $2, 'MANUAL', 'OPEN', 100, 'usd', $3)`,
    [id, gateway.companyId, new Date(clock.now() + dueInMs)],
  );
  return id;
}
async function pay(id: string): Promise<void> {
  await gateway.parts.database.query("update invoices set status = 'PAID' where id = $1", [id]);
}

describe('403, an overdue invoice', () => {
  test('G-32 P-29 blocks from the message on, in the envelope, until it is paid; reads go on', async () => {
    const { rawKey } = await gateway.mint();
    expect((await send(rawKey)).status).toBe(200);
    const id = await invoice(-DAY_MS);
    await tell();
    const refused = await refusalOf(send(rawKey));
    expect(refused).toMatchObject({ status: 403, type: 'permission_error', code: 'PLAN_LIMIT_EXCEEDED' });
    expect(refused.message).toContain('Pay it');
    const headers = { authorization: `Bearer ${rawKey}` };
    expect((await fetch(`${gateway.url}/models`, { headers })).status).toBe(200);
    await pay(id);
    await tell();
    expect((await send(rawKey)).status).toBe(200);
  });

  test('G-32 blocks and frees within a second where the message was lost', async () => {
    const { rawKey } = await gateway.mint();
    await send(rawKey);
    const id = await invoice(-DAY_MS);
    await until(async () => (await send(rawKey)).status === 403, 1_600);
    await pay(id);
    await until(async () => (await send(rawKey)).status === 200, 1_600);
  });

  test('G-32 an invoice that is not due yet blocks from its due date on, with nobody telling', async () => {
    const { rawKey } = await gateway.mint();
    const id = await invoice(700);
    await tell();
    expect((await send(rawKey)).status).toBe(200);
    await until(async () => (await send(rawKey)).status === 403, 2_000);
    await pay(id);
    await tell();
    expect((await send(rawKey)).status).toBe(200);
  });

  test('G-37 model 403, then overdue 403, then credits 402, then key limits 429', async () => {
    const { database } = gateway.parts;
    const { rawKey } = await gateway.mint({ requestsPerMinute: 1, models: ['svc/chat-default'] });
    gateway.upstream.answer(() => Response.json(chatAnswer()));
    expect((await send(rawKey)).status).toBe(200);
    const codeOf = async (sent: unknown = body) => {
      const { status, code } = await refusalOf(send(rawKey, sent));
      return `${status} ${code}`;
    };
    expect(await codeOf()).toBe('429 null');
    await database.query('update credit_accounts set line_micro = 0, version = version + 1 where id = $1', [
      gateway.companyId,
    ]);
    await gateway.credits.grant(-1n);
    expect(await codeOf()).toBe('402 INSUFFICIENT_CREDITS');
    const id = await invoice(-DAY_MS);
    await tell();
    expect(await codeOf()).toBe('403 PLAN_LIMIT_EXCEEDED');
    expect(await codeOf({ ...body, model: 'svc/chat-cheap' })).toBe('403 LLM_MODEL_NOT_ALLOWED');
    await pay(id);
    await tell();
    expect(await codeOf()).toBe('402 INSUFFICIENT_CREDITS');
  });
});
