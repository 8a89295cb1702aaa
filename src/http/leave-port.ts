/**
 * How one of several processes on a port leaves it without failing a call.
 *
 * The kernel gives each process on a shared port a queue of its own for connections that it has opened and the process
 * has not yet taken. Closing the listener resets what waits there: at 7,000 new connections a second two or three
 * clients saw their connection reset at every stop. So a process leaves in three steps: it lets no further handshake
 * begin (a packet filter on its own listener drops them; the client's kernel asks again after a second and meets another
 * process), takes what is still on its way, and only then gives the listener up. The runtime's own stop would do the
 * last step by closing idle kept connections too, which loses the call that a client has just put on one; here they
 * stay open. Where the kernel migrates queued connections by itself (net.ipv4.tcp_migrate_req), that second is not spent.
 */
import { dlopen, ptr } from 'bun:ffi';
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import type { Clock } from '../ports/clock.ts';

export type Left = { outcome: 'left' } | { outcome: 'cannot'; reason: string };

/** A handshake's round trip, and the turn of our loop that takes it. Well below the second after which SYN is repeated. */
const HANDSHAKE_MS = 250;
const MOVES_CONNECTIONS = '/proc/sys/net/ipv4/tcp_migrate_req';
const LISTENERS = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];
const IS_LISTENING = '0A';
const [SOL_SOCKET, SO_ATTACH_FILTER, O_CLOEXEC] = [1, 26, 0o2000000];

/** Linux only; elsewhere, or on another C library, it says that it cannot and nothing has changed. */
export async function leavePort(port: number, clock: Clock): Promise<Left> {
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
    // In the listener's place comes something harmless, so that the number that the runtime knows stays valid.
    const nothing = openSync('/dev/null', 'r');
    for (const descriptor of listeners) libc.symbols.dup3(nothing, descriptor, O_CLOEXEC);
    closeSync(nothing);
    return { outcome: 'left' };
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
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = LISTENERS.flatMap((file) => readFileSync(file, 'utf8').split('\n').slice(1));
  const inodes = rows.flatMap((row) => {
    const [, local = '', , state, , , , , , inode = ''] = row.trim().split(/\s+/);
    return state === IS_LISTENING && local.endsWith(wanted) ? [`socket:[${inode}]`] : [];
  });
  return readdirSync('/proc/self/fd')
    .filter((descriptor) => inodes.includes(linkOf(descriptor)))
    .map(Number);
}

function linkOf(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    // It was the folder's own, closed since.
    return '';
  }
}

/** A classic packet filter: what has SYN and not ACK is dropped, all else passes. It sees the packet from its TCP header on. */
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
  // The instructions are named by their address alone: kept here, they live as long as the program.
  return { program, bytes: program.byteLength, instructions };
}
