import { dlopen, FFIType, ptr } from 'bun:ffi';

/** Where the C library is: glibc, musl, macOS. */
const C_LIBRARIES = [
  'libc.so.6',
  'libc.musl-x86_64.so.1',
  'libc.musl-aarch64.so.1',
  '/usr/lib/libSystem.B.dylib',
];

/**
 * The same program again, in this process's place, with more in its environment. It stays one process with one id: what
 * watches it (systemd, a container) sees no parent that could die without its child.
 */
export function restartWith(more: Readonly<Record<string, string>>): never {
  const words = [process.execPath, ...process.argv.slice(2)];
  const environment = Object.entries({ ...process.env, ...more }).map(([name, value]) => `${name}=${value}`);
  const kept: Uint8Array[] = [];
  const pointersTo = (texts: readonly string[]) => {
    const bytes = texts.map((text) => new TextEncoder().encode(`${text}\0`));
    const list = new BigUint64Array([...bytes.map((text) => BigInt(ptr(text))), 0n]);
    // Nothing of it may be collected before the call.
    kept.push(...bytes, new Uint8Array(list.buffer));
    return ptr(list);
  };
  const { execve } = openExecve();
  const [program] = words;
  const path = new TextEncoder().encode(`${program}\0`);
  execve(ptr(path), pointersTo(words), pointersTo(environment));
  // It returns only where it failed.
  process.stderr.write(`turnpike: cannot start anew; set ${describe(more)} and start again\n`);
  process.exit(kept.length > 0 ? 1 : 2);
}

function openExecve() {
  const types = { args: [FFIType.ptr, FFIType.ptr, FFIType.ptr], returns: FFIType.i32 } as const;
  for (const name of C_LIBRARIES) {
    try {
      return dlopen(name, { execve: types }).symbols;
    } catch {
      // The next one, then.
    }
  }
  return { execve: () => -1 };
}

function describe(more: Readonly<Record<string, string>>): string {
  return Object.entries(more)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}
