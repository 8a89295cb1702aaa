import type { Settlement } from '../../../ports/shared-state.ts';
import { CLEAR_UP_AFTER_MS, defineScript, type TagKeys } from './scripts.ts';

/**
 * How things are stored is told in reserve-script.ts. One key for each settlement, and after the offset:
 * 'w' windowStart delta; 'n' entry ttlMs amount (renew); 'x' entry (release); 'l' value version ttlMs replaces, the
 * last one '-' where only a stored level is changed, 'none' where it is also stored anew.
 */
export const settleScript = defineScript(`
local MOST = 9007199254740991
local arg = 2

local function settleWindow(key, start, delta)
  local stored = redis.call('GET', key)
  if not stored then return end
  local running, ends, used = struct.unpack('ddd', stored)
  if running ~= start or now >= ends then return end
  used = math.min(math.max(used + delta, 0), MOST)
  redis.call('SET', key, struct.pack('ddd', running, ends, used), 'KEEPTTL')
end

local function renew(set, entry, ttl, amount)
  local scores = redis.call('ZMSCORE', set, 'x' .. entry, 'a' .. entry, 's')
  if scores[1] and now < tonumber(scores[1]) then
    redis.call('ZADD', set, text(now + ttl), 'x' .. entry)
  else
    -- Amounts and the sum are stored negative; an entry that has ended may still be in the sum.
    local sum = (scores[3] or 0) - (scores[2] or 0) - amount
    if sum < -MOST then return end
    redis.call('ZADD', set, text(now + ttl), 'x' .. entry, text(-amount), 'a' .. entry, text(sum), 's')
  end
  if redis.call('PTTL', set) < ttl + ${CLEAR_UP_AFTER_MS / 2} then
    redis.call('PEXPIRE', set, text(ttl + ${CLEAR_UP_AFTER_MS}))
  end
end

local function release(set, entry)
  local amount = redis.call('ZSCORE', set, 'a' .. entry)
  if not amount then return end
  redis.call('ZREM', set, 'x' .. entry, 'a' .. entry)
  -- The sum alone is an empty set.
  if redis.call('ZCARD', set) == 1 then
    redis.call('DEL', set)
  else
    redis.call('ZINCRBY', set, text(-amount), 's')
  end
end

local function setLevel(key, value, version, ttl, replaces)
  local stored = redis.call('GET', key)
  local known, knownVersion, _, expires
  if stored then known, knownVersion, _, expires = struct.unpack('dddd', stored) end
  if not stored or now >= expires then
    if replaces == '-' then return end
  elseif knownVersion ~= tonumber(replaces) then
    if knownVersion > version then return end
    -- One version has one value: the value known under it stays.
    if knownVersion == version then value = known end
  end
  local level = struct.pack('dddd', value, version, now, now + ttl)
  redis.call('SET', key, level, 'PX', text(ttl + ${CLEAR_UP_AFTER_MS}))
end

for _, key in ipairs(KEYS) do
  local kind, first, second = ARGV[arg], ARGV[arg + 1], ARGV[arg + 2]
  if kind == 'w' then
    settleWindow(key, tonumber(first), tonumber(second))
    arg = arg + 3
  elseif kind == 'n' then
    renew(key, first, tonumber(second), tonumber(ARGV[arg + 3]))
    arg = arg + 4
  elseif kind == 'x' then
    release(key, first)
    arg = arg + 2
  else
    setLevel(key, tonumber(first), tonumber(second), tonumber(ARGV[arg + 3]), ARGV[arg + 4])
    arg = arg + 5
  end
end
return 0
`);

export function settleCall(
  keys: TagKeys,
  settlements: readonly Settlement[],
): { keys: string[]; args: string[] } {
  const names: string[] = [];
  const args: string[] = [];
  for (const settlement of settlements) {
    switch (settlement.kind) {
      case 'window':
        names.push(keys.window(settlement.name));
        args.push('w', String(settlement.windowStart), String(settlement.delta));
        break;
      case 'renew':
        names.push(keys.held(settlement.name));
        args.push('n', settlement.entry, String(settlement.ttlMs), String(settlement.amount));
        break;
      case 'release':
        names.push(keys.held(settlement.name));
        args.push('x', settlement.entry);
        break;
      case 'level': {
        const { value, version, ttlMs, replaces } = settlement;
        names.push(keys.level(settlement.name));
        const over = replaces === undefined ? '-' : (replaces ?? 'none');
        args.push('l', String(value), String(version), String(ttlMs), String(over));
        break;
      }
    }
  }
  return { keys: names, args };
}
