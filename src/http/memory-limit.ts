/**
 * A limit of memory for large bodies or answers of a process: all together have at most `mostBytes`, and those of one company
 * half of it. What has up to 1 MiB is not counted, so ordinary calls are never refused for it.
 */
export interface MemoryLimit {
  share(companyId: string): MemoryShare;
  /** The bytes that are counted now. */
  heldBytes(): number;
  /** How many shares were refused. */
  refusedCount(): number;
}

/** The memory of one body or answer. */
export interface MemoryShare {
  /** False if it, which has this many bytes by now, exceeds the limit. What it held is then released. */
  hold(bytes: number): boolean;
  wasRefused(): boolean;
  release(): void;
}

export const UNCOUNTED_BYTES = 1024 * 1024;

export function createMemoryLimit(mostBytes: number): MemoryLimit {
  const byCompany = new Map<string, number>();
  let total = 0;
  let refused = 0;

  function resize(companyId: string, by: number): void {
    total += by;
    const held = (byCompany.get(companyId) ?? 0) + by;
    if (held === 0) byCompany.delete(companyId);
    else byCompany.set(companyId, held);
  }

  return {
    heldBytes: () => total,
    refusedCount: () => refused,
    share(companyId) {
      let held = 0;
      let isRefused = false;
      const release = () => {
        if (held > 0) resize(companyId, -held);
        held = 0;
      };
      const refuse = () => {
        if (!isRefused) refused += 1;
        isRefused = true;
        release();
      };
      return {
        hold(bytes) {
          if (!(bytes > UNCOUNTED_BYTES)) return !isRefused;
          const more = bytes - held;
          const ofCompany = (byCompany.get(companyId) ?? 0) + more;
          if (total + more > mostBytes || ofCompany > mostBytes / 2) refuse();
          if (isRefused) return false;
          held = bytes;
          resize(companyId, more);
          return true;
        },
        wasRefused: () => isRefused,
        release,
      };
    },
  };
}
