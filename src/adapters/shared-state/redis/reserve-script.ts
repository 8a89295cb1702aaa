import {
  type Claim,
  type LimitState,
  type Reservation,
  WINDOW_BUCKETS,
} from '../../../ports/shared-state.ts';
import { BUCKET_BYTES, CLEAR_UP_AFTER_MS, defineScript, HEADER_BYTES, type TagKeys } from './scripts.ts';

/** Once so many buckets at the beginning have left, a window is written without them. */
const MOST_LEFT = 64;

/**
 * Reads and checks everything first, then writes everything or nothing.
 *
 * A window is six doubles and then three for each bucket before the running one: the sum of all buckets, how many of the
 * buckets before have left, when the next one of them was last used (0 if there is none), and start, last and used of the
 * running one; then start, last and used of each, oldest first. So a call reads and writes the six; once a bucket it adds
 * three at the end, and reads the others where one may have left. (The buckets as written by `createWindows`, which
 * documents them.) A level is value, version, setAt, expiresAt, packed likewise (parsing and building text cost as
 * much as reading and writing it). The entries held under one name are
 * one sorted set, so that they and their sum are always evicted or expired together: the score of 'x'..entry is its
 * expiry, of 'a'..entry its amount, of 's' the sum of all amounts. Amounts and the sum are negative, so that the scores
 * above 0 are exactly the expiries.
 *
 * Arguments after the offset, for each claim: 'w' amount limit windowMs bucketMs aheadMs, with one key; or the rule ('f' fits,
 * 'r' room), entry, amount, ttlMs, limit, with one key; or the rule as a capital with maxAgeMs for the limit, what is
 * added to the level, and the level's key after the first; or 'm' ('M' with a level) and the count at the end.
 * The reply is flat: outcome (0 reserved, 1 refused, 2 level unknown), the claim's place, the wait (-1 none),
 * then for each claim: used, bucket, wait until nothing is used for a window; used, limit, 0 for what is held. With an unknown
 * level it is: 2, the claim's place, and the version of the level that is too old, where one is stored.
 */
export const reserveScript = defineScript(
  `
local MOST = 9007199254740991
local reply, takings = {0, -1, -1}, {}
local key, arg = 1, 2
local staleVersion = nil

-- The first one is the reason. Where waiting helps it, the wait is until every window has room.
local function refuse(wait)
  if reply[1] == 0 then
    reply[1], reply[2], reply[3] = 1, #takings, wait
  elseif reply[3] >= 0 then
    reply[3] = math.max(reply[3], wait)
  end
end

local function load(it)
  if it.stored then return end
  it.stored = redis.call('GET', it.key)
  it.closed = (#it.stored - ${HEADER_BYTES}) / ${BUCKET_BYTES}
end

local function bucketAt(it, place)
  return struct.unpack('ddd', it.stored, ${HEADER_BYTES + 1} + ${BUCKET_BYTES} * place)
end

-- More than the whole limit never fits: no wait would help.
local function waitOf(it, limit)
  if it.amount > limit then return -1 end
  local tooMuch = it.total + it.amount - limit
  load(it)
  for place = it.left, it.closed - 1 do
    local _, last, used = bucketAt(it, place)
    tooMuch = tooMuch - used
    if tooMuch <= 0 then return last + it.length - now end
  end
  return it.last + it.length - now
end

local function headerOf(it)
  return struct.pack('dddddd', it.total, it.left, it.first, it.start, it.last, it.used)
end

-- Until the running bucket has left, however late in it the last claim comes.
local function clearUpAfter(it)
  return text(it.ahead + it.bucket + it.length + ${CLEAR_UP_AFTER_MS})
end

local function readWindow()
  local limit = tonumber(ARGV[arg + 2])
  local it = {key = KEYS[key], amount = tonumber(ARGV[arg + 1]), length = tonumber(ARGV[arg + 3]),
    bucket = tonumber(ARGV[arg + 4]), ahead = tonumber(ARGV[arg + 5]), total = 0, left = 0, first = 0, used = 0}
  local header = redis.call('GETRANGE', it.key, 0, ${HEADER_BYTES - 1})
  if header ~= '' then
    local total, left, first, start, last, used = struct.unpack('dddddd', header)
    if start > now + it.bucket then
      -- The server's clock was set back: what is counted stays for one more window, and no longer.
      it.total, it.start, it.last, it.used = total, now, now + it.bucket, total
      it.stored, it.closed = headerOf(it), 0
      redis.call('SET', it.key, it.stored, 'PX', clearUpAfter(it))
    elseif last + it.length > now then
      it.total, it.left, it.first, it.start, it.last, it.used = total, left, first, start, last, used
      while it.first > 0 and it.first + it.length <= now do
        load(it)
        local _, _, count = bucketAt(it, it.left)
        it.total, it.left, it.first = it.total - count, it.left + 1, 0
        if it.left < it.closed then _, it.first = bucketAt(it, it.left) end
      end
    end
  end
  if it.total + it.amount > limit then refuse(waitOf(it, limit)) end
  takings[#takings + 1] = it
  key, arg = key + 1, arg + 6
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
  if it.amount == 0 then return end
  local ends, before = now + it.ahead, nil
  it.total = it.total + it.amount
  if it.start and (ends <= it.last or (it.ahead == 0 and now < it.start + it.bucket)) then
    it.last, it.used = math.max(it.last, ends), it.used + it.amount
    redis.call('SETRANGE', it.key, 0, headerOf(it))
    return
  end
  if it.start then
    before = struct.pack('ddd', it.start, it.last, it.used)
    if it.first == 0 then it.first = it.last end
  end
  it.start, it.used = it.start and math.max(now, it.start + 1) or now, it.amount
  it.last = it.ahead == 0 and ends or ends + it.bucket
  if before and it.left < ${MOST_LEFT} then
    redis.call('SETRANGE', it.key, 0, headerOf(it))
    redis.call('APPEND', it.key, before)
    redis.call('PEXPIRE', it.key, clearUpAfter(it))
  else
    local kept = ''
    if before then
      load(it)
      kept = string.sub(it.stored, ${HEADER_BYTES + 1} + ${BUCKET_BYTES} * it.left) .. before
    end
    it.left = 0
    redis.call('SET', it.key, headerOf(it) .. kept, 'PX', clearUpAfter(it))
  end
end

-- Until nothing is used: buckets whose units were all returned count nothing.
local function resetOf(it)
  if it.total == 0 then return 0 end
  if it.used > 0 then return it.last + it.length - now end
  load(it)
  for place = it.closed - 1, it.left, -1 do
    local _, last, used = bucketAt(it, place)
    if used > 0 then return last + it.length - now end
  end
  return 0
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
    reply[last + 1], reply[last + 2], reply[last + 3] = it.total, it.start or 0, resetOf(it)
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
      const { amount, limit, windowMs, aheadMs = 0 } = claim;
      const bucketMs = Math.max(1, Math.floor(windowMs / WINDOW_BUCKETS));
      args.push('w', String(amount), String(limit), String(windowMs), String(bucketMs), String(aheadMs));
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
  if (claim.kind !== 'window') return { limit: second, used, bucket: 0, resetMs: 0 };
  return { limit: claim.limit, used, bucket: second, resetMs: reply[from + 2] ?? 0 };
}
