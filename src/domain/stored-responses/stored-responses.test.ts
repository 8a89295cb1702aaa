import { describe, expect, test } from 'bun:test';
import { finishedCall } from '../../../test/doubles/finished-calls.ts';
import { createManualClock } from '../../../test/doubles/manual-clock.ts';
import { createRecordingLog } from '../../../test/doubles/recording-log.ts';
import { addTestCompany } from '../../../test/doubles/test-company.ts';
import { useDatabase } from '../../../test/setup/use-database.ts';
import { createSystemSecrets } from '../../adapters/secrets/system-secrets.ts';
import type { Database } from '../../ports/database.ts';
import { createAnswerCipher } from '../calls/idempotency/answer-cipher.ts';
import { chargeCalls } from '../calls/settlement/charge-calls.ts';
import type { FinishedCall } from '../calls/settlement/finished-call.ts';
import { entryOf, readEntry } from '../calls/settlement/journal-record.ts';
import { contentOf, expandedBody, inputItemsPage, outputIds } from './response-content.ts';
import {
  createStoredResponses,
  type NewResponse,
  purgeStoredResponses,
  type StoredResponseParts,
} from './stored-responses.ts';

const DAY_MS = 24 * 60 * 60_000;
const secrets = createSystemSecrets();
const cipher = createAnswerCipher({
  masterKeys: ['a master key of more than thirty-two characters'],
  secrets,
});
const database = useDatabase();
const KEY_ID = secrets.newId();
const ALIAS = 'svc/chat-default';

const message = (id: string, text: string) => ({
  ...{ id, type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] },
});
const response = (id: string, text = 'Yes.') => ({
  ...{ id, object: 'response', output: [message(`msg_${id}_0`, text)] },
});

function opened(more: Partial<StoredResponseParts> = {}) {
  const clock = createManualClock();
  const { log, entries } = createRecordingLog();
  const bounds = {
    ...{ isOn: true, keepMs: 30 * DAY_MS, contentKeepMs: DAY_MS },
    ...{ maxBytes: 100_000, maxCompanyBytes: 1_000_000 },
  };
  const stored = createStoredResponses({ database, clock, log, cipher, ...bounds, ...more });
  /** The response with the commit of its call. */
  const record = async (given: NewResponse, call: Partial<FinishedCall> = {}) => {
    const made = (await stored.recordOf(given)) ?? undefined;
    const ended = finishedCall(given.companyId, { keyId: KEY_ID, alias: ALIAS, response: made, ...call });
    await chargeCalls(more.database ?? database, [ended]);
    return ended;
  };
  return { stored, record, clock, entries };
}

const newCompany = () => addTestCompany(database);

const newResponse = (companyId: string, more: Partial<NewResponse> = {}): NewResponse => ({
  id: `resp_${secrets.newId()}`,
  companyId,
  targetId: 'target',
  itemIds: [],
  chargeCallId: null,
  content: null,
  ...more,
});

/** What of these ids is not there. */
const missing = (...ids: string[]) => ({
  ...{ outcome: 'searched' as const, previous: null, holders: [], missing: ids },
});
const byId = (responseId: string) => ({ responseId, itemIds: [] });
const byItem = (...itemIds: string[]) => ({ responseId: null, itemIds });

describe('stored responses', () => {
  test('are found by their company, by their id and by those of their items', async () => {
    const { stored, record } = opened();
    const companyId = await newCompany();
    const id = `resp_${secrets.newId()}`;
    const content = contentOf({ input: 'Hello' }, response(id));
    const given = newResponse(companyId, { id, itemIds: outputIds(response(id)), content });
    await record(given);
    const { companyId: _, ...own } = given;
    const expected = { ...own, keyId: KEY_ID, alias: ALIAS };
    expect(await stored.find(companyId, byId(id))).toEqual({
      ...{ outcome: 'searched', previous: expected, holders: [], missing: [] },
    });
    expect(await stored.find(companyId, byItem(`msg_${id}_0`))).toEqual({
      ...{ outcome: 'searched', previous: null, holders: [expected], missing: [] },
    });
  });

  test('of another company are not found, not by an item either, and cannot be deleted or taken over', async () => {
    const { stored, record } = opened();
    const [companyId, other] = [await newCompany(), await newCompany()];
    const given = newResponse(companyId, { itemIds: ['msg_own'] });
    await record(given);
    await record({ ...given, companyId: other });
    expect(await stored.find(other, byId(given.id))).toEqual(missing(given.id));
    expect(await stored.find(other, byItem('msg_own'))).toEqual(missing('msg_own'));
    expect(await stored.remove(other, given.id)).toBe('not-found');
    expect(await stored.find(companyId, byId(given.id))).toMatchObject({ missing: [] });
    expect(await stored.remove(companyId, given.id)).toBe('removed');
    expect(await stored.remove(companyId, given.id)).toBe('not-found');
    // Only its id is left, so that it does not come back.
    const left = 'select sealed_content as content, item_ids as items from stored_responses where id = $1';
    expect(await database.query<object>(left, [given.id])).toEqual([{ content: null, items: [] }]);
  });

  test('are encrypted, each for its company: nothing is readable in the database or can be moved', async () => {
    const { stored, record, entries } = opened();
    const [companyId, other] = [await newCompany(), await newCompany()];
    const id = `resp_${secrets.newId()}`;
    const content = contentOf({ input: 'a very secret question' }, response(id, 'a very secret answer'));
    await record(newResponse(companyId, { id, content }));
    const [row] = await database.query<{ found: boolean }>(
      `select position('secret'::bytea in sealed_content) > 0 as found from stored_responses where id = $1`,
      [id],
    );
    expect(row).toEqual({ found: false });
    await database.query('update stored_responses set company_id = $1 where id = $2', [other, id]);
    expect(await stored.find(other, byId(id))).toEqual(missing(id));
    expect(JSON.stringify(entries)).not.toContain('secret');
  });

  test('expire by their age, and are removed in batches', async () => {
    const { stored, record, clock } = opened();
    const companyId = await newCompany();
    const given = newResponse(companyId);
    await record(given);
    const id = `resp_${secrets.newId()}`;
    await record(newResponse(companyId, { id, content: contentOf({ input: 'Hello' }, response(id)) }));
    await clock.advance(2 * DAY_MS);
    expect(await stored.find(companyId, byId(id))).toEqual(missing(id));
    expect(await stored.find(companyId, byId(given.id))).toMatchObject({ missing: [] });
    await clock.advance(29 * DAY_MS);
    expect(await stored.find(companyId, byId(given.id))).toEqual(missing(given.id));
    await database.query(
      `insert into stored_responses (id, company_id, key_id, alias, target_id, created_at, expires_at)
       select 'old_' || n, $1, $1, 'a', 't', $2, $2 from generate_series(1, 1500) as n`,
      [companyId, new Date(clock.now() - 1)],
    );
    const fresh = newResponse(companyId);
    await record(fresh);
    expect(await purgeStoredResponses({ database, clock })).toBeGreaterThanOrEqual(1_501);
    expect(await stored.find(companyId, byId(fresh.id))).toMatchObject({ missing: [] });
  });

  test('are bounded: one by its size, those of a company in total, and invalid ids are refused', async () => {
    const { stored, record } = opened({ maxBytes: 2_000, maxCompanyBytes: 4_000 });
    const companyId = await newCompany();
    const storing = async (text: string) => {
      const id = `resp_${secrets.newId()}`;
      await record(newResponse(companyId, { id, content: contentOf({ input: text }, response(id)) }));
      const found = await stored.find(companyId, byId(id));
      return found.outcome === 'searched' && found.previous !== null;
    };
    expect(await storing('x'.repeat(2_000))).toBe(false);
    expect(await storing('x'.repeat(1_500))).toBe(true);
    expect(await storing('x'.repeat(1_500))).toBe(true);
    expect(await storing('x'.repeat(1_500))).toBe(false);
    for (const id of ['', 'a/../b', 'a b', 'x'.repeat(201), "resp_'; drop"]) {
      await record(newResponse(companyId, { id }));
      expect(await stored.find(companyId, byId(id))).toEqual(missing(id));
      expect(await stored.remove(companyId, id)).toBe('not-found');
    }
  });

  test('are read up to 64 MB for one request: what is beyond, the oldest, is not found', async () => {
    const { stored, record } = opened({ maxCompanyBytes: 1_000_000_000 });
    const companyId = await newCompany();
    const names = ['old', 'middle', 'new'];
    for (const name of names) {
      const id = `resp_${name}_${companyId}`;
      const content = contentOf({ input: name }, response(id));
      await record(newResponse(companyId, { id, itemIds: [`msg_${name}`], content }));
      await database.query(
        `update stored_responses set content_bytes = 30 * 1024 * 1024, created_at = $2 where id = $1`,
        [id, new Date(names.indexOf(name))],
      );
    }
    const found = await stored.find(companyId, byItem('msg_old', 'msg_middle', 'msg_new'));
    expect(found).toMatchObject({ missing: ['msg_old'], holders: [{}, {}] });
  });

  test('that were not charged are marked so until a read has charged them', async () => {
    const { stored, record } = opened();
    const companyId = await newCompany();
    const given = newResponse(companyId, { chargeCallId: secrets.newId() });
    await record(given);
    const found = async () => {
      const search = await stored.find(companyId, byId(given.id));
      return search.outcome === 'searched' ? search.previous?.chargeCallId : search.outcome;
    };
    expect(await found()).toBe(given.chargeCallId);
    await stored.charged(companyId, given.id);
    expect(await found()).toBeNull();
  });

  test('that cannot be encrypted are not recorded, and are unavailable when they are read', async () => {
    const fault = Object.assign(new Error('gone'), { name: 'DatabaseFailure', sqlState: '57P01' });
    const gone = { ...database, query: () => Promise.reject(fault) } as unknown as Database;
    const { stored, entries } = opened({
      ...{ database: gone, cipher: { ...cipher, seal: () => Promise.reject(new Error('no key')) } },
    });
    const content = contentOf({ input: 'Hello' }, response('resp_1'));
    expect(await stored.recordOf(newResponse(secrets.newId(), { id: 'resp_1', content }))).toBeNull();
    expect(entries).toHaveLength(1);
    expect(await stored.find('c', byId('resp_1'))).toEqual({ outcome: 'unavailable' });
    expect(await stored.remove('c', 'resp_1')).toBe('unavailable');
  });

  test.each([
    ['stored here', contentOf({ input: 'Hello' }, response('resp_once'))],
    ['stored by their provider', null],
  ])(
    '%s are recorded with the first commit of their call: a journal brings none back that was deleted',
    async (_, content) => {
      const { stored, record } = opened();
      const companyId = await newCompany();
      const given = newResponse(companyId, { itemIds: ['msg_once', 'rs_once'], content });
      const call = await record(given);
      expect(await stored.find(companyId, byItem('rs_once'))).toMatchObject({ holders: [{ id: given.id }] });
      expect(await stored.remove(companyId, given.id)).toBe('removed');
      const read = readEntry(entryOf(call));
      if (read.outcome !== 'read') throw new Error(read.problem);
      expect(read.call).toEqual(call);
      await chargeCalls(database, [read.call]);
      expect(await stored.find(companyId, byId(given.id))).toEqual(missing(given.id));
      const other = newResponse(companyId, { itemIds: ['rs_other'], content });
      const made = (await stored.recordOf(other)) ?? undefined;
      const beside = finishedCall(companyId, { keyId: KEY_ID, alias: ALIAS, response: made });
      await chargeCalls(database, [read.call, beside]);
      expect(await stored.find(companyId, byId(given.id))).toEqual(missing(given.id));
      expect(await stored.find(companyId, byItem('rs_other'))).toMatchObject({ holders: [{ id: other.id }] });
    },
  );

  test('never prevent the charge of a call: not a second one of their id, nor one that no longer fits', async () => {
    const { stored, record } = opened({ maxCompanyBytes: 4_000 });
    const companyId = await newCompany();
    const given = newResponse(companyId);
    await record(given);
    await record({ ...given, targetId: 'another' });
    const ids = Array.from({ length: 3 }, () => `resp_${secrets.newId()}`);
    const calls = ids.map(async (id) => {
      const content = contentOf({ input: 'x'.repeat(1_500) }, response(id));
      const made = (await stored.recordOf(newResponse(companyId, { id, content }))) ?? undefined;
      return finishedCall(companyId, { keyId: KEY_ID, alias: ALIAS, response: made });
    });
    const { levels } = await chargeCalls(database, await Promise.all(calls));
    expect(levels).toMatchObject([{ accountId: companyId, version: 5n }]);
    const found = await Promise.all(ids.map((id) => stored.find(companyId, byId(id))));
    expect(found.filter((one) => one.outcome === 'searched' && one.previous !== null)).toHaveLength(2);
    const again = await stored.find(companyId, byId(given.id));
    expect(again).toMatchObject({ previous: { targetId: given.targetId } });
  });
});

describe('the content of a stored response', () => {
  test('has the input as items with ids, a page at a time', () => {
    const call = { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' };
    const { input } = contentOf({ input: [{ role: 'user', content: 'Hi' }, call] }, response('resp_r'));
    const first = {
      ...{ type: 'message', role: 'user', id: 'msg_r_i0', status: 'completed' },
      content: [{ type: 'input_text', text: 'Hi' }],
    };
    const second = { ...call, id: 'item_r_i1' };
    expect(input).toEqual([first, second]);
    const content = { response: response('resp_r'), input };
    expect(inputItemsPage(content, { limit: 1, after: null, order: 'desc' })).toEqual({
      ...{ object: 'list', data: [second], first_id: 'item_r_i1', last_id: 'item_r_i1', has_more: true },
    });
    expect(inputItemsPage(content, { limit: 5, after: 'item_r_i1', order: 'desc' })).toMatchObject({
      ...{ data: [first], has_more: false },
    });
  });

  test('precedes the input of a continuation, and replaces references', () => {
    const previous = contentOf({ input: 'First' }, response('resp_a'));
    const holder = contentOf({ input: 'Other' }, response('resp_b', 'Held.'));
    const reference = { type: 'item_reference', id: 'msg_resp_b_0' };
    const body = {
      model: 'm',
      input: [reference, { id: 'rs_gone' }, { id: 'rs_there' }, { role: 'user', content: 'Why?' }],
    };
    expect(expandedBody(body, { previous, holders: [holder], dropped: new Set(['rs_gone']) })).toMatchObject({
      model: 'm',
      input: [
        { role: 'user', content: [{ text: 'First' }] },
        { role: 'assistant', content: [{ text: 'Yes.' }] },
        { role: 'assistant', content: [{ text: 'Held.' }] },
        { id: 'rs_there' },
        { role: 'user', content: 'Why?' },
      ],
    });
  });
});
