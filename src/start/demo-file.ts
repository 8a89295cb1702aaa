import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Configuration } from './configuration.ts';
import type { Parts } from './connect.ts';
import { type DemoWorld, drawDemoWorld, ensureDemoWorld } from './demo-world.ts';
import { type SecretsInUse, writeOwnerOnly } from './kept-secrets.ts';

/** Where the services answer: as configured, except where a port was left to the system. */
export type ServiceAddresses = Readonly<Record<keyof Configuration['ports'], string>>;

export function configuredAddresses({ host, ports }: Configuration): ServiceAddresses {
  const name = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  const address = (port: number) => `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
  return {
    gateway: address(ports.gateway),
    backend: address(ports.backend),
    ai: address(ports.ai),
    sandbox: address(ports.sandbox),
  };
}

/**
 * Makes sure of the demo world and of DATA_DIR/demo.json, which newcomers and outside checks read. Returns the
 * file's path, or null where this database has no demo world of ours.
 */
export async function announceDemoWorld(parts: Parts, addresses: ServiceAddresses): Promise<string | null> {
  const { configuration, database, secrets, ownSecrets, log } = parts;
  const seed = ownSecrets.demoSeed;
  if (!configuration.demoWorld || seed === null) return null;
  const outcome = await ensureDemoWorld(database, secrets, seed, configuration.demoCredits);
  if (outcome === 'another-world') {
    log.warn('no demo world: the database holds companies that were not made from this DATA_DIR');
    return null;
  }
  const file = join(configuration.dataDir, 'demo.json');
  const text = demoFile(drawDemoWorld(seed), ownSecrets, addresses, configuration.paymentSandbox);
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeOwnerOnly(file, text, 'replace');
  return file;
}

function demoFile(
  world: DemoWorld,
  keys: SecretsInUse,
  addresses: ServiceAddresses,
  hasSandbox: boolean,
): string {
  const login = ({ email, password }: DemoWorld['superAdmin']) => ({ email, password });
  const content = {
    gateway_url: `${addresses.gateway}/llm/v1`,
    backend_url: addresses.backend,
    ai_url: addresses.ai,
    console_url: addresses.backend,
    sandbox_url: hasSandbox ? addresses.sandbox : null,
    api_key: world.apiKey,
    full_key: world.fullKey,
    internal_token: keys.internalToken,
    webhook_secret: keys.webhookSecret,
    jwt_secret: keys.jwtSecret,
    company_id: world.companyId,
    super_admin: login(world.superAdmin),
    company_admin: login(world.companyAdmin),
  };
  return `${JSON.stringify(content, null, 2)}\n`;
}
