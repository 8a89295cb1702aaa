import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { configuredAddresses } from './addresses.ts';
import { ownEnvironment, readConfiguration } from './configuration.ts';

/** The addresses in demo.json, which has the actual ports if the system chose them. */
const demoAddresses = z.object({ backend_url: z.string(), gateway_url: z.string(), ai_url: z.string() });

/** The addresses of this machine's services, from demo.json and from the settings; empty if the settings are invalid. */
export function knownDeployments() {
  const read = readConfiguration('command-line', ownEnvironment());
  if (read.outcome === 'refused') return [];
  const { gateway, backend, ai } = configuredAddresses(read.configuration);
  const demo = readDemo(join(read.configuration.dataDir, 'demo.json'));
  return [...(demo === null ? [] : [demo]), { gateway, backend, ai }];
}

function readDemo(file: string) {
  try {
    const { backend_url, gateway_url, ai_url } = demoAddresses.parse(JSON.parse(readFileSync(file, 'utf8')));
    return { backend: backend_url, gateway: gateway_url, ai: ai_url };
  } catch {
    return null;
  }
}
