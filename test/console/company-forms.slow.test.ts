/** Every form of a company's pages, clicked once in a real browser on a fresh start. */
import { beforeAll, describe, expect, test } from 'bun:test';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startScriptedUpstream } from '../gateway/scripted-upstream.ts';
import { givenChromium } from '../services/given.ts';
import { useResource } from '../setup/use-resource.ts';
import { logIn, openBrowserSystem, type Visitor } from './browser-system.ts';
import {
  walkAlertsAndAgents,
  walkBilling,
  walkBudgets,
  walkKeys,
  walkProfile,
  walkProviderKeys,
  walkServiceTokens,
  walkTeam,
  walkUsage,
} from './walk-company.ts';
import { walkJobs, walkMatches, walkMeetings, walkTalents } from './walk-hiring.ts';
import { walkPayloads } from './walk-payloads.ts';
import { walkRequests } from './walk-requests.ts';
import {
  walkBatchUpload,
  walkEndedSession,
  walkLongNames,
  walkManyKeys,
  walkMissingScripts,
  walkTwoTabs,
} from './walk-traps.ts';

describe.skipIf(givenChromium() === null)('the forms of a company', () => {
  let admin: Visitor;

  const provider = useResource(() => startScriptedUpstream());
  const world = useResource(async () => {
    const config = join(tmpdir(), `models-${process.pid}.json`);
    const targets = [{ base_url: provider.url, model: 'm', api_key: 'sk-operator' }];
    await Bun.write(
      config,
      JSON.stringify({ aliases: { 'svc/chat-cheap': { targets, byok_fee_percent: 12.5 } } }),
    );
    return await openBrowserSystem(undefined, { MODEL_CONFIG: config });
  });
  beforeAll(async () => {
    admin = await world.visit();
    await logIn(admin.page, world.demo.company_admin);
  });

  /** The browser says nothing by itself: what is refused is an answer of GraphQL, not an error of HTTP. */
  const quiet = () => expect(admin.complaints).toEqual([]);

  test('P-15 jobs are added, edited with their history, closed, opened, pasted and published', async () => {
    await walkJobs(admin.page);
    quiet();
  });

  test('P-15 a CV is uploaded and read; each value links to its position in the text; it is edited and erased', async () => {
    await walkTalents(admin.page);
    quiet();
  });

  test('P-15 the match appears without a reload with its reasons, and the weights are set', async () => {
    await walkMatches(admin.page);
    quiet();
  });

  test('A-7 an interview is announced, and its transcript is shown', async () => {
    await walkMeetings(admin.page);
    quiet();
  });

  test('G-19 a key is created with all options, limited, rotated; P-15 its failures are shown and alerts set', async () => {
    await walkKeys(admin.page, world.demo);
    await walkPayloads(admin.page, world.demo);
    await walkUsage(admin.page);
    await walkAlertsAndAgents(admin.page, world.demo);
    quiet();
  });

  test('requests appear live, are filtered by the URL, shown with the reason of their refusal, and exported', async () => {
    await walkRequests(admin.page, world.demo);
    quiet();
  });

  test('a service token is created with scopes and revoked', async () => {
    await walkServiceTokens(admin.page);
    quiet();
  });

  test('an own provider key is tested, stored, shown by its last characters and deleted', async () => {
    await walkProviderKeys(admin.page, provider);
    quiet();
  });

  test('budgets are set, edited and deleted', async () => {
    await walkBudgets(admin.page);
    quiet();
  });

  test('P-15 the team, the company’s name and the products on sale', async () => {
    await walkTeam(admin.page, world.demo);
    await walkBilling(admin.page, world.demo);
    quiet();
  });

  test('a script that does not load leaves no blank page: the page reports it and offers a reload', async () => {
    await walkMissingScripts(world);
  });

  test('P-8 an ended session asks for a log-in over the page, and no input is lost', async () => {
    await walkEndedSession(world);
  });

  test('more keys than a page shows can be reached, found and filtered, and a reload keeps the filter', async () => {
    await walkManyKeys(world, admin.page);
    quiet();
  });

  test('P-15 one bad file of a batch does not stop the others', async () => {
    await walkBatchUpload(admin.page);
    quiet();
  });

  test('names of full length hide no button at 390 and 1440 px', async () => {
    await walkLongNames(world, admin.page);
    quiet();
  });

  test('two tabs do not overwrite each other, and leaving unsaved input asks for confirmation', async () => {
    await walkTwoTabs(admin.page);
    quiet();
  });

  test('P-8 a user changes their own password, and the last admin cannot leave', async () => {
    await walkProfile(admin.page, world.demo.company_admin);
    quiet();
  });
});
