/**
 * How one of several processes on a port stops listening on it without failing a call.
 *
 * The kernel gives each process on a shared port its own queue of connections that are open but not yet accepted. Closing the
 * listener resets the connections in it: at 7,000 new connections a second, two or three clients saw their connection reset
 * at every stop. So a process stops in three steps. It allows no further handshake to begin: a packet filter on its own
 * listener drops them, and the client's kernel retries after a second and reaches another process. It accepts the connections
 * that are still on their way. Only then does it give up the listener. The runtime's own stop would also close idle kept
 * connections in the last step, which loses a call that a client has just sent on one; here they stay open. If the kernel
 * migrates queued connections itself (net.ipv4.tcp_migrate_req), the filter is not needed and that second is saved.
 */
import { dlopen, ptr } from 'bun:ffi';
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Clock } from '../ports/clock.ts';

type ReleasedPort = { outcome: 'released' } | { outcome: 'cannot'; reason: string };

/**
 * The round trip of a handshake, and the turn of our event loop that accepts it. Well below the second after which SYN is
 * repeated.
 */
const HANDSHAKE_MS = 250;
const MOVES_CONNECTIONS = '/proc/sys/net/ipv4/tcp_migrate_req';
const LISTENERS = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
const IS_LISTENING = '0A';
const [SOL_SOCKET, SO_ATTACH_FILTER, O_CLOEXEC] = [1, 26, 0o2000000];

/** Linux only. On other systems or with another C library, it returns `cannot` and changes nothing. */
export async function releasePort(port: number, clock: Clock): Promise<ReleasedPort> {
  try {
    const libc = dlopen('libc.so.6', {
      setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
      dup3: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
    });
    const listeners = ownListeners(port);
    if (listeners.length === 0) return { outcome: 'cannot', reason: `nothing of ours listens on ${port}` };
    if (!kernelMovesConnections()) {
      const filter = refuseHandshakes();
      for (const descriptor of listeners) {
        const { program, bytes } = filter;
        if (libc.symbols.setsockopt(descriptor, SOL_SOCKET, SO_ATTACH_FILTER, ptr(program), bytes) !== 0) {
          return { outcome: 'cannot', reason: 'the kernel takes no filter' };
        }
      }
      await clock.sleep(HANDSHAKE_MS);
    }
    // Replaces the listener by something harmless, so that the descriptor that the runtime knows stays valid.
    const nothing = openSync('/dev/null', 'r');
    for (const descriptor of listeners) libc.symbols.dup3(nothing, descriptor, O_CLOEXEC);
    closeSync(nothing);
    return { outcome: 'released' };
  } catch (error) {
    return { outcome: 'cannot', reason: (error as Error).message };
  }
}

function kernelMovesConnections(): boolean {
  try {
    return readFileSync(MOVES_CONNECTIONS, 'utf8').trim() === '1';
  } catch {
    return false;
  }
}

/** The descriptors of this process that listen on the port. */
function ownListeners(port: number): number[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = LISTENERS.flatMap((file) => readFileSync(file, 'utf8').split('\n').slice(1));
  const inodes = rows.flatMap((row) => {
    const [, local = '', , state, , , , , , inode = ''] = row.trim().split(/\s+/);
    return state === IS_LISTENING && local.endsWith(suffix) ? [`socket:[${inode}]`] : [];
  });
  return readdirSync('/proc/self/fd')
    .filter((descriptor) => inodes.includes(linkOf(descriptor)))
    .map(Number);
}

function linkOf(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    // It was the descriptor of the folder itself, which has been closed.
    return '';
  }
}

/**
 * A classic packet filter, which sees packets from the TCP header on. It drops those with SYN and without ACK, and passes all
 * others.
 */
function refuseHandshakes() {
  const [loadByte, and, jumpIfEqual, answer] = [0x30, 0x54, 0x15, 0x06];
  const [FLAGS_AT, SYN, SYN_AND_ACK, WHOLE] = [13, 0x02, 0x12, 0xffffffff];
  const steps: readonly (readonly [code: number, ifTrue: number, ifFalse: number, value: number])[] = [
    [loadByte, 0, 0, FLAGS_AT],
    [and, 0, 0, SYN_AND_ACK],
    [jumpIfEqual, 0, 1, SYN],
    [answer, 0, 0, 0],
    [answer, 0, 0, WHOLE],
  ];
  const instructions = new DataView(new ArrayBuffer(steps.length * 8));
  for (const [at, [code, ifTrue, ifFalse, value]] of steps.entries()) {
    instructions.setUint16(at * 8, code, true);
    instructions.setUint8(at * 8 + 2, ifTrue);
    instructions.setUint8(at * 8 + 3, ifFalse);
    instructions.setUint32(at * 8 + 4, value, true);
  }
  const program = new DataView(new ArrayBuffer(16));
  program.setUint16(0, steps.length, true);
  program.setBigUint64(8, BigInt(ptr(instructions)), true);
  // The program refers to the instructions only by address. Returning them keeps them alive as long as the program.
  return { program, bytes: program.byteLength, instructions };
}
