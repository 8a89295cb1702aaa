import { beforeAll, beforeEach, describe, expect, spyOn, test } from 'bun:test';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createManualClock } from '../../test/doubles/manual-clock.ts';
import { postAt } from '../../test/doubles/posted-usage.ts';
import { type TypedParts, typedCommand } from '../../test/doubles/typed-command.ts';
import { useDatabase } from '../../test/setup/use-database.ts';
import { createSystemSecrets } from '../adapters/secrets/system-secrets.ts';
import { createInProcessState } from '../adapters/shared-state/in-process.ts';
import { addCompany } from '../domain/accounts/company.ts';
import { COMPANIES_TOPIC } from '../domain/credits/ledger/credit-account.ts';
import type { SqlValue } from '../ports/database.ts';
import type { JobData, JobQueue } from '../ports/job-queue.ts';
import { commandNamed } from './commands.ts';

const secrets = createSystemSecrets();
const clock = createManualClock(Date.UTC(2030, 1, 10));
const sharedState = createInProcessState({ clock });
const enqueued: { queue: string; data: JobData }[] = [];
const published: string[] = [];
let companyId = '';
const database = useDatabase({ beforeClose: () => rm(folder, { recursive: true, force: true }) });
let folder = '';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'statement-'));
  await sharedState.subscribe(
    COMPANIES_TOPIC,
    (id) => void published.push(id),
    () => {},
  );
});
beforeEach(async () => {
  companyId = secrets.newId();
  await addCompany(database, { id: companyId, name: 'Acme', billingMode: 'POSTPAID' });
});

async function type(name: string, ...words: string[]) {
  const command = commandNamed(name);
  if (command === null) throw new Error(`there is no such command: ${name}`);
  const jobQueue = {
    enqueue: async (queue: string, data: JobData) => {
      enqueued.push({ queue, data });
      return 'job-1';
    },
  } as unknown as JobQueue;
  return await typedCommand({ database, clock, sharedState, jobQueue } as TypedParts, command, ...words);
}

async function addInvoice(): Promise<string> {
  const id = secrets.newId();
  await postAt(database, companyId, -12_500_000n, '2030-01-05T00:00:00Z');
  await database.query(
    `insert into invoices (id, company_id, kind, status, amount_minor, currency, usage_micro, first_version,
       last_version, period_start, period_end, due_at, number)
     values ($1, $2, 'POSTPAID', 'OPEN', 13, 'usd', 12500000, 1, 1, '2030-01-01Z', '2030-02-01Z', '2030-02-09Z', 'N-1')`,
    [id, companyId],
  );
  return id;
}

describe('the commands for invoices', () => {
  test('P-29 invoices shows open ones and that they block; a payment settles one, once', async () => {
    const id = await addInvoice();
    const listed = await type('invoices', companyId);
    expect(listed.lines[0]).toBe(
      `${id} POSTPAID OPEN 0.13 usd (2030-01-01 to before 2030-02-01; 12.5 credits; due 2030-02-09T00:00:00.000Z; number N-1)`,
    );
    expect(listed.lines[1]).toStartWith('its calls are blocked since 2030-02-09T00:00:00.000Z');
    published.length = 0;
    const paid = await type('mark-invoice-paid', id);
    expect(paid).toMatchObject({ exitCode: 0 });
    expect(paid.lines[1]).toBe("the company's balance is 0 credits");
    expect(published).toEqual([companyId]);
    expect((await type('mark-invoice-paid', id)).lines[1]).toBe("the company's balance is 0 credits");
    expect((await type('invoices', companyId)).lines).toHaveLength(1);
    expect(await type('void-invoice', id, 'a mistake')).toEqual({
      exitCode: 1,
      lines: [`! ${id} is PAID and stays so`],
    });
  });

  test('void-invoice writes the usage off', async () => {
    const id = await addInvoice();
    const dropped = await type('void-invoice', id, 'agreed by phone');
    expect(dropped.lines[0]).toContain(' VOID ');
    expect(dropped.lines[1]).toBe("the company's balance is 0 credits");
  });

  test('P-29 invoice-month enqueues a job for the workers, which have the price', async () => {
    expect((await type('invoice-month')).lines[0]).toBe('the workers have it: job job-1');
    expect((await type('invoice-month', '--month', '2030-01')).exitCode).toBe(0);
    expect(enqueued).toEqual([
      { queue: 'monthly-invoices', data: {} },
      { queue: 'monthly-invoices', data: { until: '2030-01' } },
    ]);
    expect(await type('invoice-month', '--month', '2030-02')).toEqual({
      exitCode: 1,
      lines: ['! 2030-02 is not over yet'],
    });
  });

  test('set-billing changes mode and credit line', async () => {
    expect((await type('set-billing', companyId, 'POSTPAID', '--line', '12.5')).lines).toEqual([
      `${companyId} is POSTPAID with a line of 12.5`,
    ]);
    expect((await type('set-billing', companyId, 'PREPAID')).lines).toEqual([`${companyId} is PREPAID`]);
    expect((await type('set-billing', companyId, 'POSTPAID')).lines).toEqual([
      `${companyId} is POSTPAID with no end`,
    ]);
    expect(await type('set-billing', secrets.newId(), 'PREPAID')).toMatchObject({ exitCode: 1 });
    expect(await type('set-billing', companyId, 'PREPAID', '--line', '5')).toEqual({
      exitCode: 2,
      lines: ['! --line: a PREPAID company has no credit line. Leave it out. Nothing was changed'],
    });
  });

  test('invalid arguments print the usage, unknown ids where to find them', async () => {
    for (const [name, ...words] of [
      ['invoice-month', '--month', '2030-13'],
      ['void-invoice', companyId],
      ['set-billing', companyId, 'SOMEHOW'],
      ['statement', companyId, '--from', '2030-02-30', '--to', '2030-03-01'],
      ['statement', companyId, '--from', '2030-01-02', '--to', '2030-01-01'],
      ['statement', companyId, '--from', '2030-01-01', '--to', '2030-01-02', '--out', 'relative.csv'],
    ] as const) {
      expect(await type(name, ...words)).toMatchObject({ exitCode: 2 });
    }
    expect((await type('mark-invoice-paid', 'x')).lines.join()).toContain(
      'turnpike invoices COMPANY_ID lists them',
    );
  });
});

describe('the statement', () => {
  const january = ['--from', '2030-01-01', '--to', '2030-01-31'];

  test('it is printed as CSV, both days included', async () => {
    await postAt(database, companyId, -1_500_000n, '2030-01-31T23:59:59Z');
    await postAt(database, companyId, -1n, '2030-02-01T00:00:00Z');
    const { exitCode, lines } = await type('statement', companyId, ...january);
    expect(exitCode).toBe(0);
    expect(lines).toHaveLength(4);
    expect(lines[2]).toStartWith('2030-01-31T23:59:59.000Z,USAGE,-1.5,-1.5,');
    expect(await type('statement', secrets.newId(), ...january)).toMatchObject({ exitCode: 1 });
  });

  test('it is written to a new file that only its owner can read, never over another', async () => {
    await postAt(database, companyId, -1_500_000n, '2030-01-31T23:59:59Z');
    const out = join(folder, 'january.csv');
    const written = await type('statement', companyId, ...january, '--out', out);
    expect(written).toEqual({ exitCode: 0, lines: [`4 lines in ${out}`] });
    expect((await readFile(out, 'utf8')).split('\n')).toHaveLength(5);
    expect((await stat(out)).mode & 0o777).toBe(0o600);
    const again = await type('statement', companyId, ...january, '--out', out);
    expect(again).toEqual({
      exitCode: 1,
      lines: [`! --out: ${out} cannot be written: there is a file of that name`],
    });
  });

  test('a part of it is not left where it cannot be written to its end', async () => {
    const out = join(folder, 'cut.csv');
    const query = database.query.bind(database);
    const reading = spyOn(database, 'query').mockImplementation((async (
      text: string,
      values?: readonly SqlValue[],
    ) => {
      if (text.includes('order by version limit')) throw new Error('the connection is gone');
      return await query(text, values);
    }) as typeof database.query);
    try {
      await expect(type('statement', companyId, ...january, '--out', out)).rejects.toThrow('is gone');
    } finally {
      reading.mockRestore();
    }
    expect(await type('statement', companyId, ...january, '--out', out)).toMatchObject({ exitCode: 0 });
  });
});
