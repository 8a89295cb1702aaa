import type { Claim, LevelLimit, Settlement, SharedStateFailure } from '../../ports/shared-state.ts';

/**
 * Input that both adapters reject before they change anything. Types do not prevent a NaN, and a script that adds NaN to a
 * counter destroys it, so every number is checked here.
 */

const MAX_CLAIMS = 32;
const MAX_SETTLEMENTS = 256;
const MAX_ENTRIES = 100;
const MAX_NAME_LENGTH = 1_024;
const MAX_MESSAGE_BYTES = 256 * 1024;
/** Ten years, so that times stay far below 2^53 ms, the limit of exact numbers. */
const MAX_DURATION_MS = 315_360_000_000;
/** A running call renews what it holds: without one, an entry ends within a day, whoever made it. */
const MAX_HELD_MS = 86_400_000;

export function checkClaims(tag: string, claims: readonly Claim[]): void {
  checkTag(tag);
  checkCount('claims', claims.length, MAX_CLAIMS);
  // By index: this runs in every step, and an iterator of pairs would be most of its cost.
  for (let place = 0; place < claims.length; place += 1) {
    const claim = claims[place] as Claim;
    checkName('a claim', claim.name);
    checkAmount(claim.name, 'amount', claim.amount);
    if (claim.kind === 'window') {
      checkWhole(claim.name, 'limit', claim.limit);
      checkDuration(claim.name, 'windowMs', claim.windowMs);
      checkAmount(claim.name, 'aheadMs', claim.aheadMs ?? 0);
      if ((claim.aheadMs ?? 0) > claim.windowMs) {
        refuse(`"${claim.name}" is claimed ${claim.aheadMs} ms ahead: at most its windowMs is allowed.`);
      }
    } else {
      checkName('an entry', claim.entry);
      checkDuration(claim.name, 'ttlMs', claim.ttlMs, MAX_HELD_MS);
      checkHeldLimit(claim.name, claim.limit);
      if (claim.kind === 'held-many') checkEntryCount(claim.name, claim.count);
    }
    // Two claims on one counter would be checked independently of each other.
    for (let earlier = 0; earlier < place; earlier += 1) {
      const other = claims[earlier];
      if (other?.name === claim.name && isWindow(other) === isWindow(claim)) {
        refuse(`"${claim.name}" is claimed twice in one call: join the two claims.`);
      }
    }
  }
}

function isWindow({ kind }: Claim): boolean {
  return kind === 'window';
}

function checkEntryCount(name: string, count: number): void {
  checkWhole(name, 'count', count);
  if (count < 1 || count > MAX_ENTRIES)
    refuse(`"${name}" has count ${count}: 1 to ${MAX_ENTRIES} are taken.`);
}

function checkHeldLimit(name: string, limit: number | LevelLimit): void {
  if (typeof limit === 'number') {
    checkWhole(name, 'limit', limit);
    return;
  }
  checkName('a level', limit.level);
  checkAmount(name, 'maxAgeMs', limit.maxAgeMs);
  checkWhole(name, 'plus', limit.plus ?? 0);
}

export function checkSettlements(tag: string, settlements: readonly Settlement[]): void {
  checkTag(tag);
  checkCount('settlements', settlements.length, MAX_SETTLEMENTS);
  for (const settlement of settlements) {
    checkName('a settlement', settlement.name);
    switch (settlement.kind) {
      case 'while':
        if (typeof settlement.value !== 'string')
          refuse(`The value of "${settlement.name}" is not a string: give a string.`);
        break;
      case 'window':
        checkAmount(settlement.name, 'bucket', settlement.bucket);
        checkWhole(settlement.name, 'delta', settlement.delta);
        break;
      case 'renew':
        checkName('an entry', settlement.entry);
        checkAmount(settlement.name, 'amount', settlement.amount);
        checkDuration(settlement.name, 'ttlMs', settlement.ttlMs, MAX_HELD_MS);
        break;
      case 'release':
        checkName('an entry', settlement.entry);
        break;
      case 'level':
        checkWhole(settlement.name, 'value', settlement.value);
        checkWhole(settlement.name, 'version', settlement.version);
        checkWhole(settlement.name, 'replaces', settlement.replaces ?? 0);
        checkDuration(settlement.name, 'ttlMs', settlement.ttlMs);
        break;
    }
  }
}

export function checkKey(key: string): void {
  checkName('a value', key);
}

export function checkValue(key: string, value: string, ttlMs: number): void {
  checkName('a value', key);
  if (typeof value !== 'string') refuse(`The value of "${key}" is not a string: give a string.`);
  checkDuration(key, 'ttlMs', ttlMs);
}

export function checkTopic(topic: string): void {
  checkName('a topic', topic);
}

export function checkMessage(topic: string, message: string): void {
  checkTopic(topic);
  if (typeof message !== 'string') refuse(`The message to "${topic}" is not a string: give a string.`);
  // A string has at most three UTF-8 bytes per UTF-16 unit, so short ones are not counted.
  if (message.length * 3 <= MAX_MESSAGE_BYTES) return;
  const bytes = Buffer.byteLength(message);
  if (bytes > MAX_MESSAGE_BYTES) {
    refuse(
      `The message to "${topic}" has ${bytes} bytes, more than ${MAX_MESSAGE_BYTES}: publish where to find the content instead.`,
    );
  }
}

/** A brace would end the hash tag early, and two names could then become one key. */
function checkTag(tag: string): void {
  checkName('a tag', tag);
  if (tag.includes('{') || tag.includes('}')) refuse(`The tag "${tag}" has a brace in it: leave it out.`);
}

function checkCount(what: string, count: number, most: number): void {
  if (count > most) refuse(`${count} ${what} in one call are more than ${most}: split the call.`);
}

function checkName(what: string, name: string): void {
  if (typeof name !== 'string' || name === '' || name.length > MAX_NAME_LENGTH) {
    refuse(`The name of ${what} must be a string of 1 to ${MAX_NAME_LENGTH} characters.`);
  }
}

function checkWhole(name: string, field: string, value: number): void {
  if (!Number.isSafeInteger(value)) {
    refuse(`"${name}" has ${field} ${String(value)}: a whole number within ±2^53 is needed.`);
  }
}

function checkAmount(name: string, field: string, value: number): void {
  checkWhole(name, field, value);
  if (value < 0) refuse(`"${name}" has ${field} ${value}: it must not be negative.`);
}

function checkDuration(name: string, field: string, value: number, most = MAX_DURATION_MS): void {
  checkWhole(name, field, value);
  if (value < 1 || value > most) {
    refuse(
      `"${name}" has ${field} ${value}: it must lie between 1 ms and ${most === MAX_HELD_MS ? 'a day' : 'ten years'}.`,
    );
  }
}

function refuse(message: string): never {
  throw sharedStateFailure('refused', message);
}

/** The message says what happened and what to do about it, and never carries a password. */
export function sharedStateFailure(
  reason: SharedStateFailure['reason'],
  message: string,
): SharedStateFailure {
  return Object.assign(new Error(message), { name: 'SharedStateFailure' as const, reason });
}

export function sharedStateClosed(): SharedStateFailure {
  return sharedStateFailure('unavailable', 'Shared state is closed: open it again.');
}

export function isSharedStateFailure(error: unknown): error is SharedStateFailure {
  return error instanceof Error && error.name === 'SharedStateFailure';
}
