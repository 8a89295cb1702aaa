import { createHash, createHmac } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addCompany, hasCompanies } from '../../domain/accounts/company.ts';
import { addUser, type NewUser } from '../../domain/accounts/user.ts';
import { postTransaction } from '../../domain/credits/ledger/ledger.ts';
import { DEFAULT_SCOPES, rawKeyFrom, SCOPES } from '../../domain/keys/api-key.ts';
import { addKey } from '../../domain/keys/mint-key.ts';
import type { Database, Statements, Transaction } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { ServiceAddresses } from '../settings/addresses.ts';
import { type SecretsInUse, writeOwnerOnly } from '../settings/secrets.ts';
import type { Parts } from '../wiring/connect.ts';

/**
 * Ensures that the demo world and DATA_DIR/demo.json exist; newcomers and external checks read that file. Returns its
 * path, or null if this database does not contain this data folder's demo world.
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
  const text = demoFile(generateDemoWorld(seed), ownSecrets, addresses, configuration.paymentSandbox);
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeOwnerOnly(file, text, 'replace');
  return file;
}

/** Whether demo.json is for this database: it has this data folder's demo world, or is empty and gets it. */
export async function isDemoFileValid(database: Database, seed: string | null): Promise<boolean> {
  return seed !== null && (await findWorld(database, fingerprintOf(seed))) !== 'another-world';
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

/** The ids, keys and log-ins of the demo world. All are derived from one seed, so the file can be written again. */
interface DemoWorld {
  readonly companyId: string;
  readonly apiKey: string;
  readonly fullKey: string;
  readonly superAdmin: DemoPerson;
  readonly companyAdmin: DemoPerson;
}

interface DemoPerson {
  readonly id: string;
  readonly email: string;
  readonly password: string;
}

type DemoOutcome = 'made' | 'found' | 'another-world';

/** The lock under which one of several starting processes creates the world. */
const DEMO_WORLD_LOCK = 7_261_905;
const TIMEOUT_MS = 60_000;

export function generateDemoWorld(seed: string): DemoWorld {
  const draw = (label: string) => createHmac('sha256', seed).update(label).digest();
  const person = (label: string, email: string): DemoPerson => ({
    id: uuidFrom(draw(`${label} id`)),
    email,
    password: draw(`${label} password`).subarray(0, 15).toString('base64url'),
  });
  return {
    companyId: uuidFrom(draw('company id')),
    apiKey: rawKeyFrom(draw('api key')),
    fullKey: rawKeyFrom(draw('full key')),
    superAdmin: person('super admin', 'super.admin@demo.example'),
    companyAdmin: person('company admin', 'company.admin@demo.example'),
  };
}

/**
 * Creates the demo world in an empty database, with credits to spend. An existing world is not changed, except that
 * the credits are granted if they have not been yet. A database with other companies, or the world of another seed, is
 * never changed.
 */
export async function ensureDemoWorld(
  database: Database,
  secrets: Secrets,
  seed: string,
  credits: number,
): Promise<DemoOutcome> {
  const fingerprint = fingerprintOf(seed);
  return await database.transaction(
    async (transaction) => {
      await transaction.query('select pg_advisory_xact_lock($1)', [DEMO_WORLD_LOCK]);
      const world = generateDemoWorld(seed);
      const found = await findWorld(transaction, fingerprint);
      if (found === 'another-world') return found;
      if (found === 'none') await makeWorld(transaction, secrets, world, fingerprint);
      await grantCredits(transaction, world.companyId, fingerprint, credits);
      return found === 'none' ? 'made' : found;
    },
    { timeoutMs: TIMEOUT_MS },
  );
}

async function findWorld(
  reader: Statements,
  fingerprint: string,
): Promise<'none' | 'found' | 'another-world'> {
  const [row] = await reader.query<{ fingerprint: string }>(
    'select seed_fingerprint as fingerprint from demo_world',
  );
  if (row !== undefined) return row.fingerprint === fingerprint ? 'found' : 'another-world';
  return (await hasCompanies(reader)) ? 'another-world' : 'none';
}

const fingerprintOf = (seed: string) => createHash('sha256').update(seed).digest('hex').slice(0, 16);

async function makeWorld(
  transaction: Transaction,
  secrets: Secrets,
  world: DemoWorld,
  fingerprint: string,
): Promise<void> {
  const { companyId, companyAdmin, superAdmin } = world;
  await addCompany(transaction, { id: companyId, name: 'Demo Company', billingMode: 'PREPAID' });
  await add({ ...companyAdmin, companyId, role: 'COMPANY_ADMIN', isSuperAdmin: false });
  await add({ ...superAdmin, companyId: null, role: 'MEMBER', isSuperAdmin: true });
  const key = { companyId, createdBy: companyAdmin.id };
  const plain = { ...key, id: uuidFrom(idBytes(world.apiKey)), name: 'Demo key', rawKey: world.apiKey };
  const full = {
    ...key,
    id: uuidFrom(idBytes(world.fullKey)),
    name: 'Demo key, all scopes',
    rawKey: world.fullKey,
  };
  await addKey(transaction, secrets, { ...plain, scopes: DEFAULT_SCOPES });
  await addKey(transaction, secrets, { ...full, scopes: SCOPES });
  await transaction.query('insert into demo_world (seed_fingerprint, company_id) values ($1, $2)', [
    fingerprint,
    companyId,
  ]);

  async function add(user: NewUser): Promise<void> {
    const added = await addUser(transaction, secrets, user);
    if (added.outcome !== 'added') throw new Error(`the demo user ${user.email}: ${added.outcome}`);
  }
}

/** The world is the source of the transaction, so that it is granted only once, whatever the setting is at later starts. */
async function grantCredits(
  transaction: Transaction,
  companyId: string,
  fingerprint: string,
  credits: number,
): Promise<void> {
  if (credits === 0) return;
  await postTransaction(transaction, {
    accountId: companyId,
    type: 'SUBSCRIPTION_GRANT',
    amountMicro: BigInt(credits) * 1_000_000n,
    contra: 'grants',
    sourceKind: 'demo-world',
    sourceId: fingerprint,
    reason: 'credits of the demo world',
  });
}

function idBytes(text: string): Buffer {
  return createHash('sha256').update(`id of ${text}`).digest();
}

/** The first 16 bytes as a version 8 UUID, whose remaining bits are free to choose. */
function uuidFrom(bytes: Uint8Array): string {
  const sixteen = new Uint8Array(bytes.subarray(0, 16));
  sixteen[6] = ((sixteen[6] ?? 0) & 0x0f) | 0x80;
  sixteen[8] = ((sixteen[8] ?? 0) & 0x3f) | 0x80;
  return sixteen.toHex().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
