import type { Settlement } from '../../../ports/shared-state.ts';
import {
  BUCKET_BYTES,
  CLEAR_UP_AFTER_MS,
  defineScript,
  HEADER_BYTES,
  isNumber,
  type TagKeys,
} from './scripts.ts';

/**
 * reserve-script.ts documents the stored layout. One key for each settlement, and after the offset:
 * 'c' value (what follows is applied only while it is stored); 'w' bucket delta; 'd' (clear); 'n' entry ttlMs amount (renew);
 * 'x' count entry… (releases of one set); 'l' value version ttlMs replaces, the last one '-' where only a stored level is
 * changed, 'none' where it is also stored again.
 */
export const settleScript = defineScript(
  `
local MOST = 9007199254740991
local arg = 2

-- The buckets that are corrected are mostly among the last.
local function settleWindow(key, bucket, delta)
  local header = redis.call('GETRANGE', key, 0, ${HEADER_BYTES - 1})
  if header == '' then return end
  local total, left, first, start, last, used = struct.unpack('dddddd', header)
  if start == bucket then
    local change = math.min(math.max(delta, -used), MOST - total)
    header = struct.pack('dddddd', total + change, left, first, start, last, used + change)
    redis.call('SETRANGE', key, 0, header)
    return
  end
  local stored, at = redis.call('GET', key), nil
  for place = (#stored - ${HEADER_BYTES}) / ${BUCKET_BYTES} - 1, left, -1 do
    at = ${HEADER_BYTES} + ${BUCKET_BYTES} * place
    start, last, used = struct.unpack('ddd', stored, at + 1)
    if start <= bucket then break end
  end
  if start ~= bucket then return end
  local change = math.min(math.max(delta, -used), MOST - total)
  redis.call('SETRANGE', key, 0, struct.pack('d', total + change))
  redis.call('SETRANGE', key, at + 16, struct.pack('d', used + change))
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

-- Four commands for all entries of a set: a commit ends a dozen calls at once.
local function release(set, first, count)
  local members = {}
  for place = 1, count do members[place] = 'a' .. ARGV[first + place - 1] end
  local amounts = redis.call('ZMSCORE', set, unpack(members))
  local sum, gone, seen = 0, {}, {}
  for place, member in ipairs(members) do
    -- An entry that is named twice is in the sum once.
    if amounts[place] and not seen[member] then
      seen[member] = true
      sum = sum + amounts[place]
      gone[#gone + 1] = member
      gone[#gone + 1] = 'x' .. ARGV[first + place - 1]
    end
  end
  if #gone == 0 then return end
  redis.call('ZREM', set, unpack(gone))
  -- The sum alone is an empty set.
  if redis.call('ZCARD', set) == 1 then
    redis.call('DEL', set)
  else
    redis.call('ZINCRBY', set, text(-sum), 's')
  end
end

-- scripts.ts documents how values are stored.
local function isStored(key, value)
  local stored = redis.call('GET', key)
  if not stored then return false end
  local gap = string.find(stored, ' ', 1, true)
  return now < tonumber(string.sub(stored, 1, gap - 1)) and string.sub(stored, gap + 1) == value
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
  if kind == 'c' then
    if not isStored(key, first) then return 0 end
    arg = arg + 2
  elseif kind == 'w' then
    settleWindow(key, tonumber(first), tonumber(second))
    arg = arg + 3
  elseif kind == 'd' then
    redis.call('DEL', key)
    arg = arg + 1
  elseif kind == 'n' then
    renew(key, first, tonumber(second), tonumber(ARGV[arg + 3]))
    arg = arg + 4
  elseif kind == 'x' then
    release(key, arg + 2, tonumber(first))
    arg = arg + 2 + tonumber(first)
  else
    setLevel(key, tonumber(first), tonumber(second), tonumber(ARGV[arg + 3]), ARGV[arg + 4])
    arg = arg + 5
  end
end
return 0
`,
  isNumber,
);

export function settleCall(
  keys: TagKeys,
  settlements: readonly Settlement[],
): { keys: string[]; args: string[] } {
  const names: string[] = [];
  const args: string[] = [];
  const releases = createReleases(keys, names, args);
  for (const settlement of settlements) {
    switch (settlement.kind) {
      case 'while':
        if (keys.value === null) break;
        releases.write();
        names.push(keys.value(settlement.name));
        args.push('c', settlement.value);
        break;
      case 'window':
        names.push(keys.window(settlement.name));
        args.push('w', String(settlement.bucket), String(settlement.delta));
        break;
      case 'clear':
        names.push(keys.window(settlement.name));
        args.push('d');
        break;
      case 'renew':
        // An entry that is released and renewed in one step: in the order in which they came.
        releases.write();
        names.push(keys.held(settlement.name));
        args.push('n', settlement.entry, String(settlement.ttlMs), String(settlement.amount));
        break;
      case 'release':
        releases.add(settlement.name, settlement.entry);
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
  releases.write();
  return { keys: names, args };
}

/** Releases of one set go together. A step has few sets, so they are found one after the other. */
function createReleases(keys: TagKeys, names: string[], args: string[]) {
  const sets: { readonly name: string; readonly entries: string[] }[] = [];
  return {
    add(name: string, entry: string): void {
      const known = sets.find((set) => set.name === name);
      if (known === undefined) sets.push({ name, entries: [entry] });
      else known.entries.push(entry);
    },
    write(): void {
      for (const { name, entries } of sets) {
        names.push(keys.held(name));
        args.push('x', String(entries.length), ...entries);
      }
      sets.length = 0;
    },
  };
}
