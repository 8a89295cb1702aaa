import { beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import type { Scope } from '../../src/domain/keys/api-key.ts';
import { openGateway } from '../gateway/gateway-under-test.ts';
import { useResource } from '../setup/use-resource.ts';
import { REVISIONS, type Revision, runConformance } from './conformance-suite.ts';
import { startForwardingProxy } from './forwarding-proxy.ts';
import { openGatewayBeside } from './gateway-beside.ts';
import { suiteServer } from './suite-server.ts';

let rawKey: string;
const SCOPES: Scope[] = ['inference:chat', 'inference:parse', 'usage:read', 'jobs:read'];

const gateway = useResource(() => openGateway());
beforeAll(async () => {
  rawKey = (await gateway.mint({ scopes: SCOPES })).rawKey;
});

async function conformanceOf(
  mcp: Parameters<typeof openGatewayBeside>[1],
  revision: Revision,
  baseline: string | null,
) {
  const beside = await openGatewayBeside(gateway, mcp);
  const proxy = startForwardingProxy([beside.url], rawKey);
  const ran = await runConformance(`${proxy.url}/mcp`, revision, baseline);
  proxy.close();
  await beside.close();
  return ran;
}

for (const revision of REVISIONS) {
  test(`G-46 the gateway’s own tools conform to ${revision}, but for what a server of tools alone lacks`, async () => {
    const baseline = join(import.meta.dir, `tools-alone-${revision}.yml`);
    const { exitCode, report } = await conformanceOf({ mcp: { checksHost: true } }, revision, baseline);
    if (exitCode !== 0) console.log(report.slice(report.indexOf('=== SUMMARY')));
    expect(exitCode).toBe(0);
  });

  test(`G-46 the same HTTP stack with the fixtures of the suite conforms to ${revision} without exception`, async () => {
    const mcp = { checksHost: true, toolServer: suiteServer };
    const { exitCode, report } = await conformanceOf({ mcp }, revision, null);
    // Scenarios that the suite itself calls pending, or an extension that is not declared, do not count.
    if (exitCode !== 0) console.log(report.slice(report.indexOf('=== SUMMARY')));
    expect(exitCode).toBe(0);
  });
}
