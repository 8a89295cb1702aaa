import { closeSync, openSync } from 'node:fs';
import { devNull } from 'node:os';
import type { Clock, Timer } from '../../ports/clock.ts';
import type { LocalFault, LocalFaults } from '../../ports/local-faults.ts';
import type { Log } from '../../ports/log.ts';

interface LocalFaultsParts {
  readonly clock: Clock;
  readonly log: Log;
  /** Takes a descriptor and returns how to give it back. Throws if there is none. */
  readonly takeDescriptor?: () => () => void;
}

const FAULTS: Readonly<Record<string, LocalFault>> = {
  EMFILE: 'descriptors',
  ENFILE: 'descriptors',
  EADDRNOTAVAIL: 'ports',
  ENOBUFS: 'memory',
  ENOMEM: 'memory',
};

/** How the runtime reports a connection or a look-up for which it got no descriptor (Bun 1.4.4). */
const AMBIGUOUS = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|DNS_\w+)$/;

const ADVICE: Readonly<Record<LocalFault, string>> = {
  descriptors:
    'this process has no free file descriptors, so that connections fail: raise its limit (LimitNOFILE of systemd, --ulimit nofile of a container, ulimit -n)',
  ports:
    'this machine has no free local ports, so that connections fail: widen net.ipv4.ip_local_port_range, or spread the calls over more machines',
  memory: 'this machine has no memory for connections: give it more, or spread the calls over more machines',
};

const LOOK_EVERY_MS = 1_000;
/** A descriptor may be free again by the time a failure is reported. */
const RECENT_MS = 2_000;
const LOG_EVERY_MS = 60_000;

/**
 * Looks once a second whether a descriptor is free: nothing else shows it while the runtime cannot accept connections. A
 * look takes 10 µs.
 */
export function createLocalFaults({
  clock,
  log,
  takeDescriptor = openNothing,
}: LocalFaultsParts): LocalFaults & { close(): void } {
  const counts: Record<LocalFault, number> = { descriptors: 0, ports: 0, memory: 0 };
  const loggedAtMs = new Map<LocalFault, number>();
  let lackedAtMs = Number.NEGATIVE_INFINITY;
  let isLacking = false;
  let timer: Timer | null = null;

  function noted(fault: LocalFault): LocalFault {
    counts[fault] += 1;
    const nowMs = clock.uptimeMs();
    if (nowMs - (loggedAtMs.get(fault) ?? Number.NEGATIVE_INFINITY) >= LOG_EVERY_MS) {
      loggedAtMs.set(fault, nowMs);
      log.error(ADVICE[fault], { times: counts[fault] });
    }
    return fault;
  }

  function lacked(): true {
    lackedAtMs = clock.uptimeMs();
    isLacking = true;
    return true;
  }

  function lacks(count: number): boolean {
    const giveBack: (() => void)[] = [];
    try {
      for (let taken = 0; taken < count; taken += 1) giveBack.push(takeDescriptor());
      return false;
    } catch (error) {
      return faultIn(error) === 'descriptors' && lacked();
    } finally {
      for (const give of giveBack) give();
    }
  }

  function hasDescriptors(count: number): boolean {
    const isFree = !lacks(count);
    if (!isFree) noted('descriptors');
    return isFree;
  }

  const isRecent = () => clock.uptimeMs() - lackedAtMs < RECENT_MS;

  function explain(error: unknown): LocalFault | null {
    // Of several addresses: if one of them was reached, it is the other side's.
    if (error instanceof AggregateError) {
      const faults = error.errors.map(explain);
      return faults.includes(null) ? null : (faults[0] ?? null);
    }
    const fault = faultIn(error);
    if (fault === 'descriptors') lacked();
    if (fault !== null) return noted(fault);
    if (!AMBIGUOUS.test(codeOf(error))) return null;
    return lacks(1) || isRecent() ? noted('descriptors') : null;
  }

  function look(): void {
    timer = clock.after(LOOK_EVERY_MS, () => {
      if (hasDescriptors(1) && !isRecent()) isLacking = false;
      look();
    });
  }
  look();

  return {
    explain,
    lacksDescriptors: () => isLacking,
    hasDescriptors,
    counts: () => counts,
    close: () => timer?.cancel(),
  };
}

function openNothing(): () => void {
  const descriptor = openSync(devNull, 'r');
  return () => closeSync(descriptor);
}

function faultIn(error: unknown): LocalFault | null {
  return FAULTS[codeOf(error)] ?? null;
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}
