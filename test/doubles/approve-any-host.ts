import type { ApproveHost } from '../../src/ports/outgoing-addresses.ts';

/** For hosts that are addresses: each may be called. */
export const approveAnyHost: ApproveHost = (hostname) => ({ outcome: 'approved', addresses: [hostname] });
