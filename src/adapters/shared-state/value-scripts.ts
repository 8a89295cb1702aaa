import type { SharedState } from '../../ports/shared-state.ts';
import { checkKey, checkValue } from './input-checks.ts';
import { valueKey } from './redis-keys.ts';
import { CLEAR_UP_AFTER_MS, defineScript, type ScriptRunner } from './redis-script.ts';

/**
 * A value is stored as "expiresAt text", and the time in it decides, so that the offset of a test counts for
 * values as it does for windows.
 */

const getValueScript = defineScript(`
local stored = redis.call('GET', KEYS[1])
if not stored then return false end
local gap = string.find(stored, ' ', 1, true)
if now >= tonumber(string.sub(stored, 1, gap - 1)) then return false end
return string.sub(stored, gap + 1)
`);

/** After the offset: text, ttlMs, and '1' where a living value stays. Replies 1 where it was set. */
const setValueScript = defineScript(`
if ARGV[4] == '1' then
  local stored = redis.call('GET', KEYS[1])
  if stored and now < tonumber(string.match(stored, '^%d+')) then return 0 end
end
local ttl = tonumber(ARGV[3])
redis.call('SET', KEYS[1], text(now + ttl) .. ' ' .. ARGV[2], 'PX', text(ttl + ${CLEAR_UP_AFTER_MS}))
return 1
`);

const deleteValueScript = defineScript(`return redis.call('DEL', KEYS[1])`);

export type RedisValues = Pick<SharedState, 'get' | 'set' | 'setIfAbsent' | 'delete'>;

export function createRedisValues({ run, prefix }: { run: ScriptRunner; prefix: string }): RedisValues {
  async function store(key: string, value: string, ttlMs: number, onlyIfAbsent: boolean): Promise<boolean> {
    checkValue(key, value, ttlMs);
    const args = [value, String(ttlMs), onlyIfAbsent ? '1' : '0'];
    return (await run(setValueScript, [valueKey(prefix, key)], args)) === 1;
  }

  return {
    async get(key) {
      checkKey(key);
      return (await run(getValueScript, [valueKey(prefix, key)], [])) as string | null;
    },
    async set(key, value, ttlMs) {
      await store(key, value, ttlMs, false);
    },
    setIfAbsent: (key, value, ttlMs) => store(key, value, ttlMs, true),
    async delete(key) {
      checkKey(key);
      await run(deleteValueScript, [valueKey(prefix, key)], []);
    },
  };
}
