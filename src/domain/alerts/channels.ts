import type { Clock } from '../../ports/clock.ts';
import type { Statements, Transaction } from '../../ports/database.ts';
import type { Secrets } from '../../ports/secrets.ts';
import type { WebhookSender } from '../../ports/webhooks/webhook-sender.ts';
import { findUser, findUserByEmail, type User } from '../accounts/user.ts';
import { ALERT_EVENT_KINDS, ALERT_EVENTS, type AlertEventKind } from './alert-events.ts';

export const ALERT_CHANNEL_KINDS = ['EMAIL', 'WEBHOOK', 'SLACK'] as const;
export type AlertChannelKind = (typeof ALERT_CHANNEL_KINDS)[number];

/** The owner of channels: a company, or null for the operators. */
export type ChannelOwner = string | null;

export interface AlertChannel {
  readonly id: string;
  readonly companyId: ChannelOwner;
  readonly kind: AlertChannelKind;
  readonly name: string;
  readonly isOn: boolean;
  /** Null matches every kind. */
  readonly eventKinds: readonly AlertEventKind[] | null;
  /** The recipient of an EMAIL channel. */
  readonly memberId: string | null;
  /** For other kinds, the part of the address that may be shown. */
  readonly shownAddress: string | null;
  readonly oldSecretUntil: Date | null;
  readonly version: number;
  readonly createdAt: Date;
}

/**
 * Encrypts addresses and secrets under MASTER_KEY. What is encrypted for a channel can be decrypted for that channel
 * only.
 */
export interface ChannelCipher {
  encrypt(text: string, boundTo: string): Promise<Uint8Array<ArrayBuffer>>;
  decrypt(bytes: Uint8Array, boundTo: string): Promise<string>;
}

interface ChannelParts {
  readonly secrets: Pick<Secrets, 'newId' | 'randomBytes'>;
  readonly clock: Clock;
  readonly cipher: ChannelCipher;
  readonly rules: AddressRules;
}

interface AddressRules {
  readonly webhooks: Pick<WebhookSender, 'addressProblem'>;
  /** Addresses without TLS are for internal networks. */
  readonly allowsHttp: boolean;
}

/**
 * What is wrong with the address of a channel; null if requests may be sent to it. It resolves the host name, so it is
 * called before the transaction that saves the channel. Each request is checked again, because the name may resolve
 * differently by then.
 */
export async function channelAddressProblem(
  { webhooks, allowsHttp }: AddressRules,
  kind: AlertChannelKind,
  address: string,
): Promise<string | null> {
  if (kind === 'EMAIL') return null;
  const url = readUrl(address, allowsHttp);
  return typeof url === 'string' ? url : await webhooks.addressProblem(url.href);
}

interface ChannelParams {
  readonly name: string;
  readonly isOn: boolean;
  readonly eventKinds: readonly string[] | null;
  /** For EMAIL, the address of a member of the company (for operators, of a super admin), otherwise a URL. Null keeps it. */
  readonly address: string | null;
}

type ChannelField = 'name' | 'kind' | 'events' | 'address';

export type SavedChannel =
  | {
      readonly outcome: 'saved';
      readonly channel: AlertChannel /** Shown once. */;
      readonly secret: string | null;
    }
  | { readonly outcome: 'refused'; readonly field: ChannelField; readonly problem: string }
  | { readonly outcome: 'too-many' | 'unknown' }
  /** Another person has saved it in the meantime. */
  | { readonly outcome: 'outdated'; readonly channel: AlertChannel };

export const MOST_CHANNELS = 10;
const LONGEST_URL = 2_048;
const LONGEST_NAME = 100;
const SECRET_BYTES = 32;
/** While receivers replace a secret, requests are also signed with the old one. */
const OLD_SECRET_MS = 24 * 60 * 60_000;

export const CHANNEL_COLUMNS = `id, company_id as "companyId", kind, name, is_on as "isOn", event_kinds as "eventKinds",
  member_id as "memberId", shown_address as "shownAddress", old_secret_until as "oldSecretUntil", version,
  created_at as "createdAt"`;

export async function listChannels(
  statements: Statements,
  owner: ChannelOwner,
): Promise<readonly AlertChannel[]> {
  const rows = await statements.query<AlertChannel>(
    `select ${CHANNEL_COLUMNS} from alert_channels where company_id is not distinct from $1::uuid order by id`,
    [owner],
  );
  return rows.map(knownKinds);
}

/** Null if none of these owners has it. */
export async function findChannel(
  statements: Statements,
  owners: readonly ChannelOwner[],
  id: string,
): Promise<AlertChannel | null> {
  const [row] = await statements.query<AlertChannel>(
    `select ${CHANNEL_COLUMNS} from alert_channels where id = $1`,
    [id],
  );
  return row !== undefined && owners.includes(row.companyId) ? knownKinds(row) : null;
}

export async function createChannel(
  parts: ChannelParts,
  transaction: Transaction,
  owner: ChannelOwner,
  params: ChannelParams & { readonly kind: AlertChannelKind },
): Promise<SavedChannel> {
  const { kind } = params;
  if (params.address === null) return refused('address', 'it is required');
  const problem = namingProblem(params, owner);
  if (problem !== null) return problem;
  await lockOwner(transaction, owner);
  if ((await listChannels(transaction, owner)).length >= MOST_CHANNELS) return { outcome: 'too-many' };
  const id = parts.secrets.newId();
  const target = await readTarget(parts, transaction, { id, kind, owner, address: params.address });
  if ('outcome' in target) return target;
  const secret = kind === 'WEBHOOK' ? drawSecret(parts) : null;
  const [row] = await transaction.query<AlertChannel>(
    `insert into alert_channels (id, company_id, kind, name, is_on, event_kinds, member_id, shown_address, sealed_url,
       sealed_secret, created_at)
     values ($1, $2, $3, $4, $5, $6::text[], $7, $8, $9, $10, $11) returning ${CHANNEL_COLUMNS}`,
    [
      ...[id, owner, kind, params.name, params.isOn, params.eventKinds],
      ...[target.memberId, target.shownAddress, target.sealedUrl],
      secret === null ? null : await parts.cipher.encrypt(secret, secretOf(id)),
      new Date(parts.clock.now()),
    ],
  );
  return row === undefined ? { outcome: 'unknown' } : { outcome: 'saved', channel: knownKinds(row), secret };
}

/** `version` is the one that the change is based on: if the channel was saved since, nothing is changed. */
export async function updateChannel(
  parts: ChannelParts,
  transaction: Transaction,
  found: AlertChannel,
  params: ChannelParams & { readonly version: number },
): Promise<SavedChannel> {
  const problem = namingProblem(params, found.companyId);
  if (problem !== null) return problem;
  const { id, kind, companyId: owner } = found;
  const { address } = params;
  const target = address === null ? null : await readTarget(parts, transaction, { id, kind, owner, address });
  if (target !== null && 'outcome' in target) return target;
  const [row] = await transaction.query<AlertChannel>(
    `update alert_channels set name = $3, is_on = $4, event_kinds = $5::text[], version = version + 1,
       member_id = coalesce($6, member_id), shown_address = coalesce($7, shown_address),
       sealed_url = coalesce($8, sealed_url)
     where id = $1 and version = $2 returning ${CHANNEL_COLUMNS}`,
    [
      ...[id, params.version, params.name, params.isOn, params.eventKinds],
      ...[target?.memberId ?? null, target?.shownAddress ?? null, target?.sealedUrl ?? null],
    ],
  );
  if (row !== undefined) return { outcome: 'saved', channel: knownKinds(row), secret: null };
  const present = await findChannel(transaction, [owner], id);
  return present === null ? { outcome: 'unknown' } : { outcome: 'outdated', channel: present };
}

/** The previous secret also signs for another day. Webhooks only. */
export async function rotateSecret(
  parts: ChannelParts,
  transaction: Transaction,
  { id, kind }: AlertChannel,
): Promise<SavedChannel> {
  if (kind !== 'WEBHOOK') return refused('kind', 'only webhooks have a signing secret');
  const [stored] = await transaction.query<{ sealedSecret: Uint8Array }>(
    'select sealed_secret as "sealedSecret" from alert_channels where id = $1 for update',
    [id],
  );
  if (stored === undefined) return { outcome: 'unknown' };
  const secret = drawSecret(parts);
  const old = await parts.cipher.decrypt(stored.sealedSecret, secretOf(id)).catch(() => null);
  const [row] = await transaction.query<AlertChannel>(
    `update alert_channels set sealed_secret = $2, sealed_old_secret = $3, old_secret_until = $4, version = version + 1
     where id = $1 returning ${CHANNEL_COLUMNS}`,
    [
      id,
      await parts.cipher.encrypt(secret, secretOf(id)),
      // A secret that MASTER_KEY cannot decrypt is dropped.
      old === null ? null : await parts.cipher.encrypt(old, oldSecretOf(id)),
      old === null ? null : new Date(parts.clock.now() + OLD_SECRET_MS),
    ],
  );
  return row === undefined ? { outcome: 'unknown' } : { outcome: 'saved', channel: knownKinds(row), secret };
}

/** Also deletes its deliveries. False if it was already deleted. */
export async function deleteChannel(transaction: Transaction, { id }: AlertChannel): Promise<boolean> {
  const rows = await transaction.query('delete from alert_channels where id = $1 returning id', [id]);
  return rows.length === 1;
}

interface OpenedChannel {
  readonly url: string;
  /** For a WEBHOOK, all secrets that sign now. */
  readonly secrets: readonly string[];
}

/** The data for a request to the channel. Null if it does not exist or has no URL; rejects with the cipher's error. */
export async function openChannel(
  statements: Statements,
  cipher: ChannelCipher,
  id: string,
  now: Date,
): Promise<OpenedChannel | null> {
  const [row] = await statements.query<{
    sealedUrl: Uint8Array | null;
    sealedSecret: Uint8Array | null;
    sealedOldSecret: Uint8Array | null;
  }>(
    `select sealed_url as "sealedUrl", sealed_secret as "sealedSecret",
       case when old_secret_until > $2 then sealed_old_secret end as "sealedOldSecret"
     from alert_channels where id = $1`,
    [id, now],
  );
  if (row === undefined || row.sealedUrl === null) return null;
  const secrets: string[] = [];
  if (row.sealedSecret !== null) secrets.push(await cipher.decrypt(row.sealedSecret, secretOf(id)));
  if (row.sealedOldSecret !== null) secrets.push(await cipher.decrypt(row.sealedOldSecret, oldSecretOf(id)));
  return { url: await cipher.decrypt(row.sealedUrl, urlOf(id)), secrets };
}

interface SealedChannel {
  readonly id: string;
  readonly url: Uint8Array;
  readonly secret: Uint8Array | null;
  readonly oldSecret: Uint8Array | null;
}

/**
 * Encrypts addresses and signing secrets again under the first master key. Channels that none of the keys can decrypt
 * are returned and left unchanged.
 */
export async function resealChannels(
  transaction: Transaction,
  cipher: ChannelCipher,
): Promise<{ readonly resealed: number; readonly unreadable: readonly string[] }> {
  const channels = await transaction.query<SealedChannel>(
    `select id, sealed_url as url, sealed_secret as secret, sealed_old_secret as "oldSecret"
     from alert_channels where sealed_url is not null order by id for update`,
  );
  const unreadable: string[] = [];
  const again = async (sealed: Uint8Array | null, boundTo: string) =>
    sealed === null ? null : await cipher.encrypt(await cipher.decrypt(sealed, boundTo), boundTo);
  for (const { id, url, secret, oldSecret } of channels) {
    try {
      await transaction.query(
        'update alert_channels set sealed_url = $2, sealed_secret = $3, sealed_old_secret = $4 where id = $1',
        [
          id,
          await again(url, urlOf(id)),
          await again(secret, secretOf(id)),
          await again(oldSecret, oldSecretOf(id)),
        ],
      );
    } catch (error) {
      if ((error as Error).name !== 'CipherFailure') throw error;
      unreadable.push(id);
    }
  }
  return { resealed: channels.length - unreadable.length, unreadable };
}

/** The current recipient. Null if the person has left the company or is no longer a super admin. */
export async function mailReceiver(
  statements: Statements,
  { companyId, memberId }: Pick<AlertChannel, 'companyId' | 'memberId'>,
): Promise<User | null> {
  const person = memberId === null ? null : await findUser(statements, memberId);
  if (person === null) return null;
  return isReceiver(person, companyId) ? person : null;
}

function isReceiver({ companyId, isSuperAdmin }: User, owner: ChannelOwner): boolean {
  return owner === null ? isSuperAdmin : companyId === owner;
}

interface Target {
  readonly memberId: string | null;
  readonly shownAddress: string | null;
  readonly sealedUrl: Uint8Array<ArrayBuffer> | null;
}

async function readTarget(
  parts: ChannelParts,
  transaction: Transaction,
  params: Pick<AlertChannel, 'id' | 'kind'> & { readonly owner: ChannelOwner; readonly address: string },
): Promise<Target | Extract<SavedChannel, { outcome: 'refused' }>> {
  const { id, kind, owner, address } = params;
  if (kind === 'EMAIL') {
    const person = await findUserByEmail(transaction, address);
    // Other addresses would let a company send mail to strangers through us.
    if (person === null || !isReceiver(person, owner)) {
      const whose = owner === null ? 'one of the super admins' : 'one of your people; invite them first';
      return refused('address', `it is not the e-mail address of ${whose}`);
    }
    return { memberId: person.id, shownAddress: null, sealedUrl: null };
  }
  const url = readUrl(address, parts.rules.allowsHttp);
  if (typeof url === 'string') return refused('address', url);
  const sealedUrl = await parts.cipher.encrypt(url.href, urlOf(id));
  return { memberId: null, shownAddress: shownOf(kind, url), sealedUrl };
}

function readUrl(text: string, allowsHttp: boolean): URL | string {
  const url = URL.parse(text.trim());
  if (url === null || text.length > LONGEST_URL || url.href.length > LONGEST_URL) {
    return `a URL of at most ${LONGEST_URL} characters is needed, such as https://example.com/alerts`;
  }
  if (url.protocol !== 'https:' && !(allowsHttp && url.protocol === 'http:'))
    return 'it must begin with https://';
  if (url.username !== '' || url.password !== '') return 'a user name or password in it is not supported';
  url.hash = '';
  return url;
}

/** The path of a Slack webhook is secret, and a query may be. */
function shownOf(kind: AlertChannelKind, { origin, pathname, search }: URL): string {
  if (kind === 'SLACK') return `${origin}/…`;
  return `${origin}${pathname}${search === '' ? '' : '?…'}`;
}

function namingProblem(
  { name, eventKinds }: ChannelParams,
  owner: ChannelOwner,
): Extract<SavedChannel, { outcome: 'refused' }> | null {
  if (name.length === 0 || name.length > LONGEST_NAME) {
    return refused('name', `1 to ${LONGEST_NAME} characters are needed`);
  }
  if (eventKinds === null) return null;
  const known = kindsFor(owner);
  if (eventKinds.length === 0) return refused('events', 'name at least one, or leave it out for all of them');
  if (new Set(eventKinds).size < eventKinds.length) return refused('events', 'each may be named once');
  const unknown = eventKinds.find((kind) => !known.includes(kind as AlertEventKind));
  if (unknown === undefined) return null;
  return refused('events', `choose from ${known.join(', ')}`);
}

/** The kinds of alerts that the channels of this owner can receive. */
export function kindsFor(owner: ChannelOwner): readonly AlertEventKind[] {
  const audience = owner === null ? 'operators' : 'company';
  return ALERT_EVENT_KINDS.filter((kind) => ALERT_EVENTS[kind].audience === audience);
}

/** A process of a newer version may have stored kinds that are unknown here. */
function knownKinds(channel: AlertChannel): AlertChannel {
  const { eventKinds } = channel;
  if (eventKinds === null) return channel;
  return { ...channel, eventKinds: eventKinds.filter((kind) => ALERT_EVENT_KINDS.includes(kind)) };
}

/** Serializes the creation of channels, so that concurrent ones count each other. */
async function lockOwner(transaction: Transaction, owner: ChannelOwner): Promise<void> {
  await transaction.query("select pg_advisory_xact_lock(hashtextextended('alert channels of ' || $1, 0))", [
    owner ?? 'operators',
  ]);
}

function drawSecret({ secrets }: ChannelParts): string {
  return `whsec_${secrets.randomBytes(SECRET_BYTES).toBase64({ alphabet: 'base64url', omitPadding: true })}`;
}

const urlOf = (id: string) => `address of alert channel ${id}`;
const secretOf = (id: string) => `secret of alert channel ${id}`;
const oldSecretOf = (id: string) => `old secret of alert channel ${id}`;

function refused(field: ChannelField, problem: string): Extract<SavedChannel, { outcome: 'refused' }> {
  return { outcome: 'refused', field, problem };
}
