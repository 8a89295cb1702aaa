import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { type GatewayOptions, openGateway } from '../gateway/gateway-under-test.ts';
import { REVISIONS, type Revision, runConformance } from './conformance-suite.ts';
import { startForwardingProxy } from './forwarding-proxy.ts';
import { suiteServer } from './suite-server.ts';

async function expectConformance(mcp: GatewayOptions['mcp'], revision: Revision, baseline: string | null) {
  const gateway = await openGateway({ mcp: { checksHost: true, ...mcp } });
  const scopes = ['inference:chat', 'inference:parse', 'usage:read', 'jobs:read'];
  const proxy = startForwardingProxy([gateway.url], (await gateway.mint({ scopes })).rawKey);
  const { exitCode, report } = await runConformance(`${proxy.url}/mcp`, revision, baseline);
  proxy.close();
  await gateway.close();
  if (exitCode !== 0) console.log(report.slice(report.indexOf('=== SUMMARY')));
  expect(exitCode).toBe(0);
}

for (const revision of REVISIONS) {
  test(`G-46 the gateway’s own tools conform to ${revision}, but for what a server of tools alone lacks`, () =>
    expectConformance({}, revision, join(import.meta.dir, `tools-alone-${revision}.yml`)));

  // Scenarios that the suite itself calls pending, or an extension that is not declared, do not count.
  test(`G-46 the same HTTP stack with the fixtures of the suite conforms to ${revision} without exception`, () =>
    expectConformance({ toolServer: suiteServer }, revision, null));
}
