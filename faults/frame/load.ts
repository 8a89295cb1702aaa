import { done } from '../../test/gateway/scripted-upstream.ts';
import type { SeenCall } from '../../test/system/credit-clients.ts';

export interface TimedCall extends SeenCall {
  readonly startedAt: number;
  readonly endedAt: number;
}

export interface Load {
  readonly seen: TimedCall[];
  stop(): Promise<TimedCall[]>;
}

const GIVES_UP_MS = 40_000;
/** A client that was refused does not ask again at once: without this a refusal would be a busy loop. */
const PAUSE_AFTER_REFUSAL_MS = 20;
const HELLO = [{ role: 'user', content: 'Hello' }];
let made = 0;

/** One call as a client sees it; every second one is a stream. */
export async function callOnce(url: string, rawKey: string, maxTokens = 10): Promise<TimedCall> {
  made += 1;
  const requestId = `fault-${process.pid}-${made}`;
  const stream = made % 2 === 0;
  const startedAt = performance.now();
  let status: number | null = null;
  let isWhole = false;
  let reason: string | null = null;
  try {
    const response = await fetch(`${url}/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${rawKey}`,
        'content-type': 'application/json',
        'x-request-id': requestId,
      },
      body: JSON.stringify({ model: 'svc/chat-default', messages: HELLO, stream, max_tokens: maxTokens }),
      signal: AbortSignal.timeout(GIVES_UP_MS),
    });
    status = response.status;
    const text = await response.text();
    isWhole = status === 200 && (stream ? text.endsWith(done) : JSON.parse(text).usage !== undefined);
    if (!isWhole) reason = text.slice(-500);
  } catch (error) {
    reason = (error as Error).name === 'TimeoutError' ? 'given up' : 'cut';
  }
  const endedAt = performance.now();
  return { requestId, isWhole, status, reason, startedAt, endedAt, tookMs: endedAt - startedAt };
}

/** Calls one after the other on each of `lanes` lanes, until stopped. */
export function keepCalling(url: string, rawKey: string, lanes: number): Load {
  const seen: TimedCall[] = [];
  let isStopped = false;
  const running = Array.from({ length: lanes }, async () => {
    while (!isStopped) {
      const call = await callOnce(url, rawKey);
      seen.push(call);
      if (!call.isWhole) await Bun.sleep(PAUSE_AFTER_REFUSAL_MS);
    }
  });
  return {
    seen,
    async stop() {
      isStopped = true;
      await Promise.all(running);
      return seen;
    },
  };
}

export async function callMany(
  count: number,
  url: string,
  rawKey: string,
  maxTokens?: number,
): Promise<TimedCall[]> {
  return await Promise.all(Array.from({ length: count }, () => callOnce(url, rawKey, maxTokens)));
}

/** `412 answered, 3 × 503 LLM_GATEWAY_UNAVAILABLE, 1 × cut`. */
export function tally(calls: readonly SeenCall[]): string {
  const whole = calls.filter(({ isWhole }) => isWhole).length;
  const others = refusals(calls);
  return [`${whole} answered`, ...[...others].map(([what, count]) => `${count} × ${what}`)].join(', ');
}

export function refusedOf(calls: readonly SeenCall[]): string {
  const others = [...refusals(calls)].map(([what, count]) => `${count} × ${what}`);
  return others.length === 0 ? 'nothing' : others.join(', ');
}

function refusals(calls: readonly SeenCall[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { isWhole, status, reason } of calls) {
    if (isWhole) continue;
    const code = /"code": ?"(\w+)"/.exec(reason ?? '')?.[1];
    const what =
      status === null
        ? (reason ?? 'cut')
        : status === 200
          ? 'an answer cut short'
          : `${status} ${code ?? ''}`;
    counts.set(what.trim(), (counts.get(what.trim()) ?? 0) + 1);
  }
  return counts;
}

export function slowestMs(calls: readonly SeenCall[]): number {
  return Math.round(Math.max(0, ...calls.map(({ tookMs }) => tookMs)));
}
