import type { KeptConnection } from './redis-connection.ts';
import { isUnknownScript } from './redis-failures.ts';

export interface RedisScript {
  readonly source: string;
  readonly sha: string;
}

/**
 * How long a key outlives its content, in milliseconds. Whether something still counts is judged from the times
 * stored in it; the key's own expiry only clears up. The allowance keeps a server whose clock was set forward,
 * or a replica that took over, from clearing up what still counts.
 */
export const CLEAR_UP_AFTER_MS = 60_000;

/**
 * What every script begins with. `now`: the server's time in whole milliseconds, plus the offset that tests set
 * (always the first argument). `text`: how numbers go to commands, because Lua's own conversion keeps only 14
 * digits, and Redis's own made a large number cost more than the command it was for.
 */
const PRELUDE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000) + tonumber(ARGV[1])
local function text(number) return string.format('%d', number) end
`;

export type ScriptRunner = (script: RedisScript, keys: string[], args: string[]) => Promise<unknown>;

export function defineScript(body: string): RedisScript {
  const source = PRELUDE + body;
  return { source, sha: new Bun.CryptoHasher('sha1').update(source).digest('hex') };
}

/**
 * One round trip: the script goes by its hash. A server that does not know it (new, restarted, flushed) says so
 * before it does anything, so sending the text then cannot apply it twice.
 */
export async function runScript(
  connection: KeptConnection,
  script: RedisScript,
  { offsetMs, keys, args }: { offsetMs: number; keys: readonly string[]; args: readonly string[] },
): Promise<unknown> {
  const call = [script.sha, String(keys.length), ...keys, String(offsetMs), ...args];
  try {
    return await connection.send('EVALSHA', call);
  } catch (error) {
    if (!isUnknownScript(error)) throw error;
    call[0] = script.source;
    return connection.send('EVAL', call);
  }
}
