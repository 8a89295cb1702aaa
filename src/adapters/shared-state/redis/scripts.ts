import type { SharedState } from '../../../ports/shared-state.ts';
import { checkKey, checkValue } from '../input-checks.ts';
import { isUnknownScript } from './address.ts';
import type { IsReply, RedisConnection } from './connection.ts';

interface RedisScript {
  readonly source: string;
  readonly sha: string;
  readonly isReply: IsReply;
}

/**
 * How long a key outlives its content, in milliseconds. The stored times decide whether something is valid; the expiry of
 * the key only cleans up. The margin prevents a server whose clock was set forward, or a promoted replica, from removing
 * valid content.
 */
export const CLEAR_UP_AFTER_MS = 60_000;

/** Of a stored window, as reserve-script.ts documents it: six doubles, then three for each bucket. */
export const HEADER_BYTES = 48;
export const BUCKET_BYTES = 24;

/**
 * The beginning of every script. `now`: the server's time in whole milliseconds, plus the offset that tests set (always the
 * first argument). `text`: converts numbers for commands, because Lua's conversion keeps only 14 digits, and Redis's
 * conversion of a large number cost more than the command.
 */
const PRELUDE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[1])
local function text(number) return string.format('%d', number) end
`;

export type ScriptRunner = (script: RedisScript, keys: string[], args: string[]) => Promise<unknown>;

export function defineScript(body: string, isReply: IsReply): RedisScript {
  const source = PRELUDE + body;
  return { source, sha: new Bun.CryptoHasher('sha1').update(source).digest('hex'), isReply };
}

export const isNumber: IsReply = (reply) => typeof reply === 'number';

/**
 * Sends the hash of the script, in one round trip. A server that does not know it (new, restarted, flushed) replies so
 * without running anything, so sending the text then cannot apply it twice.
 */
export async function runScript(
  connection: Pick<RedisConnection, 'send'>,
  script: RedisScript,
  { offsetMs, keys, args }: { offsetMs: number; keys: readonly string[]; args: readonly string[] },
): Promise<unknown> {
  const call = [script.sha, String(keys.length), ...keys, String(offsetMs), ...args];
  try {
    return await connection.send('EVALSHA', call, script.isReply);
  } catch (error) {
    if (!isUnknownScript(error)) throw error;
    call[0] = script.source;
    return connection.send('EVAL', call, script.isReply);
  }
}

/** The keys of one tag. Its braces put them into one slot of a cluster, so that one script can use them all. */
export interface TagKeys {
  window(name: string): string;
  held(name: string): string;
  level(name: string): string;
  /** Null in a cluster, where values are in other slots. */
  readonly value: ((name: string) => string) | null;
}

export function tagKeys(prefix: string, tag: string, isCluster: boolean): TagKeys {
  const start = `${prefix}:{${tag}}:`;
  return {
    // Not `window:`, which versions before the buckets write in another layout: they run on during a rolling upgrade.
    window: (name) => `${start}counted:${name}`,
    held: (name) => `${start}held:${name}`,
    level: (name) => `${start}level:${name}`,
    value: isCluster ? null : (name) => valueKey(prefix, name),
  };
}

function valueKey(prefix: string, key: string): string {
  return `${prefix}:value:${key}`;
}

/** The prefix of channel names, before the topic. */
export function channelPrefix(prefix: string): string {
  return `${prefix}:topic:`;
}

/**
 * A value is stored as "expiresAt text". The time in it decides, so that a test's offset applies to values as it does to
 * windows.
 */
const getValueScript = defineScript(
  `
local stored = redis.call('GET', KEYS[1])
if not stored then return false end
local gap = string.find(stored, ' ', 1, true)
if now >= tonumber(string.sub(stored, 1, gap - 1)) then return false end
return string.sub(stored, gap + 1)
`,
  (reply) => reply === null || typeof reply === 'string',
);

/** Arguments after the offset: text, ttlMs, and '1' to keep an existing value. Replies 1 if it was set. */
const setValueScript = defineScript(
  `
if ARGV[4] == '1' then
  local stored = redis.call('GET', KEYS[1])
  if stored and now < tonumber(string.match(stored, '^%d+')) then return 0 end
end
local ttl = tonumber(ARGV[3])
redis.call('SET', KEYS[1], text(now + ttl) .. ' ' .. ARGV[2], 'PX', text(ttl + ${CLEAR_UP_AFTER_MS}))
return 1
`,
  isNumber,
);

const deleteValueScript = defineScript(`return redis.call('DEL', KEYS[1])`, isNumber);

type RedisValues = Pick<SharedState, 'get' | 'set' | 'setIfAbsent' | 'delete'>;

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
