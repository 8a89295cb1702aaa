import { beforeAll, describe, expect, test } from 'bun:test';
import { addCompany } from '../../src/domain/accounts/company.ts';
import { createJob, type NewJob } from '../../src/domain/jobs/job-changes.ts';
import { useResource } from '../setup/use-resource.ts';
import { openGateway, refusalOf } from './gateway-under-test.ts';

let rawKey: string;
const noQueue = { enqueue: async () => null };

const gateway = useResource(() => openGateway());
beforeAll(async () => {
  rawKey = (await gateway.mint({ scopes: ['jobs:read'] })).rawKey;
});

async function add(fields: NewJob['fields'], more: Partial<NewJob> = {}): Promise<string> {
  const { database, clock, secrets } = gateway.parts;
  const wanted = { companyId: gateway.companyId, createdBy: null, fields, ...more };
  const created = await database.transaction((transaction) =>
    createJob(transaction, { clock, secrets, jobQueue: noQueue }, wanted),
  );
  if (created.outcome !== 'created') throw new Error(created.message);
  return created.job.id;
}

interface Listed {
  readonly data: readonly (Record<string, unknown> & { readonly title: string; readonly id: string })[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

async function list(query = ''): Promise<Listed> {
  const response = await ask(query);
  expect(response.status).toBe(200);
  return (await response.json()) as Listed;
}

const ask = (query: string, key = rawKey) =>
  fetch(`${gateway.url}/jobs${query}`, { headers: { authorization: `Bearer ${key}` } });

describe('GET /jobs', () => {
  test('G-6 lists the active jobs of the key’s company alone, with requirements and metadata', async () => {
    const { database, secrets } = gateway.parts;
    const other = { id: secrets.newId(), name: 'Other', billingMode: 'PREPAID' } as const;
    await addCompany(database, other);
    await add({ title: 'Theirs' }, { companyId: other.id });
    await add({ title: 'A draft' }, { status: 'DRAFT' });
    await add({ title: 'Closed' }, { status: 'CLOSED' });
    const id = await add({
      title: 'Welder',
      description: 'Weld.',
      location: 'Turin',
      remote: true,
      employmentType: 'FULL_TIME',
      mustHave: ['TIG'],
      niceToHave: ['MIG'],
      minMonthsExperience: 12,
    });
    const [row] = await database.query<{ at: Date }>('select created_at as at from jobs where id = $1', [id]);
    expect(await list()).toEqual({
      object: 'list',
      data: [
        {
          id,
          title: 'Welder',
          description: 'Weld.',
          status: 'ACTIVE',
          location: 'Turin',
          remote: true,
          employment_type: 'FULL_TIME',
          must_have: ['TIG'],
          nice_to_have: ['MIG'],
          min_months_experience: 12,
          created_at: row?.at.toISOString(),
          updated_at: row?.at.toISOString(),
        },
      ],
      has_more: false,
      next_cursor: null,
    } as never);
  });

  test('G-6 pages by a cursor and skips none', async () => {
    for (const number of [1, 2, 3, 4, 5]) await add({ title: `Paged ${number}` });
    const titles: string[] = [];
    let query = '?limit=2&q=PAGED';
    for (;;) {
      const page = await list(query);
      titles.push(...page.data.map(({ title }) => title));
      if (!page.has_more) break;
      query = `?limit=2&q=paged&after=${page.next_cursor}`;
    }
    expect(titles).toEqual(['Paged 5', 'Paged 4', 'Paged 3', 'Paged 2', 'Paged 1']);
  });

  test('G-6 searches words in every field, and by the time of the last change', async () => {
    await add({ title: 'Chef', mustHave: ['knife skills 100%'] });
    expect((await list('?q=CHEF%20100%25')).data.map(({ title }) => title)).toEqual(['Chef']);
    expect((await list('?q=chef%20piano')).data).toEqual([]);
    const later = new Date(gateway.parts.clock.now() + 60_000).toISOString();
    expect((await list(`?updated_since=${later}`)).data).toEqual([]);
    expect((await list('?updated_since=2020-01-01')).data.length).toBeGreaterThan(0);
  });

  test.each([
    ['limit=101', 'limit'],
    ['after=nobody', 'after'],
    ['updated_since=2026-02-30', 'updated_since'],
    ['q=%00', 'q'],
  ])('G-36 ?%s is a 400 that names it', async (query, param) => {
    expect(await refusalOf(ask(`?${query}`))).toMatchObject({ status: 400, param });
  });
});
