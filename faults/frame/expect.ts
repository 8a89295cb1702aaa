import { readFileSync } from 'node:fs';
import type { TimedCall } from './load.ts';

/** The statuses that calls ended with, and only those: else a problem that names the others. */
export function onlyStatuses(calls: readonly TimedCall[], allowed: readonly (number | null)[]): string[] {
  const others = calls.filter(({ status }) => !allowed.includes(status));
  if (others.length === 0) return [];
  const first = others[0];
  return [`${others.length} calls ended otherwise: ${first?.status} ${first?.reason?.slice(0, 200)}`];
}

export function holds(isTrue: boolean, problem: string): string[] {
  return isTrue ? [] : [problem];
}

/** Memory of a process in use now, in MB; 0 where it is gone. */
export function residentMb(pid: number): number {
  try {
    const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return Math.round(Number(kilobytes ?? 0) / 1024);
  } catch {
    return 0;
  }
}

/** Checks every 50 ms until stopped; returns the highest value. */
export function watchMemory(pid: number): () => number {
  let mostMb = residentMb(pid);
  const timer = setInterval(() => {
    mostMb = Math.max(mostMb, residentMb(pid));
  }, 50);
  timer.unref();
  return () => {
    clearInterval(timer);
    return mostMb;
  };
}
