import type { Claim, LimitState, Reservation } from '../../../ports/shared-state.ts';
import { CLEAR_UP_AFTER_MS, defineScript, type TagKeys } from './scripts.ts';

/**
 * Reads and checks everything first, then writes everything or nothing.
 *
 * A window is its start, end and count, packed as three doubles; a level is value, version, setAt, expiresAt,
 * packed likewise (parsing and building text cost as much as reading and writing it). The entries held under one name are
 * one sorted set, so that they and their sum are always evicted or expired together: the score of 'x'..entry is its
 * expiry, of 'a'..entry its amount, of 's' the sum of all amounts. Amounts and the sum are negative, so that the scores
 * above 0 are exactly the expiries.
 *
 * Arguments after the offset, for each claim: 'w' amount limit windowMs, with one key; or the rule ('f' fits,
 * 'r' room), entry, amount, ttlMs, limit, with one key; or the rule as a capital with maxAgeMs for the limit, what is
 * added to the level, and the level's key after the first; or 'm' ('M' with a level) and the count at the end.
 * The reply is flat: outcome (0 reserved, 1 refused, 2 level unknown), the claim's place, the wait (-1 none),
 * then for each claim: used, start, wait until the end for a window; used, limit, 0 for what is held. With an unknown
 * level it is: 2, the claim's place, and the version of the level that is too old, where one is stored.
 */
export const reserveScript = defineScript(
  `
local MOST = 9007199254740991
local reply, takings = {0, -1, -1}, {}
local key, arg = 1, 2
local staleVersion = nil

local function refuse(retryAfter)
  if reply[1] == 0 then reply[1], reply[2], reply[3] = 1, #takings, retryAfter end
end

local function readWindow()
  local amount, limit = tonumber(ARGV[arg + 1]), tonumber(ARGV[arg + 2])
  local start, ends, used = 0, 0, 0
  local stored = redis.call('GET', KEYS[key])
  if stored then
    start, ends, used = struct.unpack('ddd', stored)
    if now >= ends then start, ends, used = 0, 0, 0 end
  end
  if used + amount > limit then
    -- More than the whole limit never fits: no wait would help.
    refuse(amount <= limit and ends - now or -1)
  end
  local length = tonumber(ARGV[arg + 3])
  takings[#takings + 1] = {key = KEYS[key], amount = amount, start = start, ends = ends, used = used, length = length}
  key, arg = key + 1, arg + 4
end

-- Nil where it was never set, or too long ago; then the version of what is stored, if anything.
local function readLevel(level, maxAge)
  local stored = redis.call('GET', level)
  if not stored then return nil end
  local value, version, setAt, expires = struct.unpack('dddd', stored)
  if now >= expires then return nil end
  if now - setAt > maxAge then return nil, version end
  return value
end

local function dropEnded(set)
  for _, member in ipairs(redis.call('ZRANGEBYSCORE', set, '(0', text(now))) do
    local amount = 'a' .. string.sub(member, 2)
    redis.call('ZINCRBY', set, text(-redis.call('ZSCORE', set, amount)), 's')
    redis.call('ZREM', set, member, amount)
  end
end

-- False where the level is unknown.
local function readHeld()
  local set, rule, entry, amount = KEYS[key], ARGV[arg], ARGV[arg + 1], tonumber(ARGV[arg + 2])
  local ttl, limit = tonumber(ARGV[arg + 3]), tonumber(ARGV[arg + 4])
  if rule == 'F' or rule == 'R' or rule == 'M' then
    key = key + 1
    limit, staleVersion = readLevel(KEYS[key], limit)
    if not limit then return false end
    limit = limit + tonumber(ARGV[arg + 5])
    arg = arg + 1
  end
  dropEnded(set)
  if rule == 'm' or rule == 'M' then
    local sum, count = -(redis.call('ZSCORE', set, 's') or 0), tonumber(ARGV[arg + 5])
    if sum + amount * count > math.min(limit, MOST) then refuse(-1) end
    takings[#takings + 1] = {set = set, entry = entry, amount = amount, ttl = ttl, sum = sum,
      others = sum, limit = limit, count = count}
    key, arg = key + 1, arg + 6
    return true
  end
  local scores = redis.call('ZMSCORE', set, 's', 'a' .. entry)
  local sum = -(scores[1] or 0)
  local own = scores[2] and -scores[2]
  local others = sum - (own or 0)
  -- What the entry holds already was admitted before: asking for no more than that takes nothing.
  if not (own and amount <= own) then
    local fits = others < limit
    if rule == 'f' or rule == 'F' then fits = others + amount <= limit end
    -- Past 2^53 the sum would no longer be exact, whatever the rule admits.
    if not fits or others + amount > MOST then refuse(-1) end
  end
  takings[#takings + 1] = {set = set, entry = entry, amount = amount, ttl = ttl, sum = sum, others = others, limit = limit}
  key, arg = key + 1, arg + 5
  return true
end

local function takeWindow(it)
  it.used = it.used + it.amount
  if it.ends > 0 then
    redis.call('SET', it.key, struct.pack('ddd', it.start, it.ends, it.used), 'KEEPTTL')
  else
    it.start, it.ends = now, now + it.length
    local clearUp = text(it.length + ${CLEAR_UP_AFTER_MS})
    redis.call('SET', it.key, struct.pack('ddd', it.start, it.ends, it.used), 'PX', clearUp)
  end
end

local function takeHeld(it)
  it.sum = it.others + it.amount * (it.count or 1)
  local expires, amount, sum = text(now + it.ttl), text(-it.amount), text(-it.sum)
  if it.count then
    local members = {sum, 's'}
    for at = 0, it.count - 1 do
      local name, last = it.entry .. '-' .. at, #members
      members[last + 1], members[last + 2] = expires, 'x' .. name
      members[last + 3], members[last + 4] = amount, 'a' .. name
    end
    redis.call('ZADD', it.set, unpack(members))
  else
    redis.call('ZADD', it.set, expires, 'x' .. it.entry, amount, 'a' .. it.entry, sum, 's')
  end
  if redis.call('PTTL', it.set) < it.ttl + ${CLEAR_UP_AFTER_MS / 2} then
    redis.call('PEXPIRE', it.set, text(it.ttl + ${CLEAR_UP_AFTER_MS}))
  end
end

while ARGV[arg] do
  if ARGV[arg] == 'w' then
    readWindow()
  elseif not readHeld() then
    return {2, #takings, staleVersion}
  end
end

for _, it in ipairs(takings) do
  local last = #reply
  if it.set then
    if reply[1] == 0 then takeHeld(it) end
    reply[last + 1], reply[last + 2], reply[last + 3] = it.sum, it.limit, 0
  else
    if reply[1] == 0 then takeWindow(it) end
    reply[last + 1], reply[last + 2] = it.used, it.start
    reply[last + 3] = it.ends == 0 and 0 or it.ends - now
  end
end
return reply
`,
  Array.isArray,
);

export function reserveCall(keys: TagKeys, claims: readonly Claim[]): { keys: string[]; args: string[] } {
  const names: string[] = [];
  const args: string[] = [];
  for (const claim of claims) {
    if (claim.kind === 'window') {
      names.push(keys.window(claim.name));
      args.push('w', String(claim.amount), String(claim.limit), String(claim.windowMs));
      continue;
    }
    names.push(keys.held(claim.name));
    const { limit } = claim;
    const letter = claim.kind === 'held-many' ? 'm' : claim.rule === 'fits' ? 'f' : 'r';
    const { entry, amount, ttlMs } = claim;
    if (typeof limit === 'number') {
      args.push(letter, entry, String(amount), String(ttlMs), String(limit));
    } else {
      names.push(keys.level(limit.level));
      args.push(letter.toUpperCase(), entry, String(amount), String(ttlMs), String(limit.maxAgeMs));
      args.push(String(limit.plus ?? 0));
    }
    if (claim.kind === 'held-many') args.push(String(claim.count));
  }
  return { keys: names, args };
}

export function readReservation(reply: readonly number[], claims: readonly Claim[]): Reservation {
  const [outcome, place = -1, third] = reply;
  if (outcome === 2) {
    const limit = claims[place]?.limit;
    const level = typeof limit === 'object' ? limit.level : '';
    return { outcome: 'level-unknown', level, version: third ?? null };
  }
  const wait = third ?? -1;
  const limitStates = claims.map((claim, index) => readLimitState(reply, claim, 3 + 3 * index));
  if (outcome === 0) return { outcome: 'reserved', limitStates };
  return { outcome: 'refused', refusedBy: place, retryAfterMs: wait < 0 ? null : wait, limitStates };
}

function readLimitState(reply: readonly number[], claim: Claim, from: number): LimitState {
  const used = reply[from] ?? 0;
  const second = reply[from + 1] ?? 0;
  if (claim.kind !== 'window') return { limit: second, used, windowStart: 0, resetMs: 0 };
  return { limit: claim.limit, used, windowStart: second, resetMs: reply[from + 2] ?? 0 };
}
