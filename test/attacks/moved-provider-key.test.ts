import { expect, test } from 'bun:test';
import { createModelDirectory } from '../../src/domain/models/model-directory.ts';
import { MODELS_TOPIC } from '../../src/domain/models/targets.ts';
import { openGateway, post } from '../gateway/gateway-under-test.ts';
import { startScriptedUpstream } from '../gateway/scripted-upstream.ts';
import { useResource } from '../setup/use-resource.ts';

const gateway = useResource(() => openGateway());
const thief = useResource(() => startScriptedUpstream());

test('a provider key whose row is moved to another address in the database is not sent there', async () => {
  const { database, sharedState } = gateway.parts;
  const { rawKey } = await gateway.mint();
  const chat = () =>
    post(`${gateway.url}/chat/completions`, rawKey, { model: 'svc/chat-default', messages: [] });
  expect((await chat()).status).toBe(200);
  const moved = await database.query(
    'update model_targets set base_url = $1 where base_url = $2 returning id',
    [thief.url, gateway.upstream.url],
  );
  expect(moved.length).toBeGreaterThan(0);
  await sharedState.publish(MODELS_TOPIC, '');
  // A process that starts now has only the changed row to read.
  const later = await createModelDirectory({
    ...gateway.catalogue,
    clock: gateway.parts.clock,
    embeddedAllowed: false,
  });
  const target = later.find('svc/chat-default')?.targets.find(({ baseUrl }) => baseUrl === thief.url);
  await later.close();
  expect(JSON.stringify(target ?? null)).not.toContain('sk-provider');
  for (let turn = 0; turn < 20; turn += 1) await (await chat()).text();
  expect(thief.received).toEqual([]);
});
