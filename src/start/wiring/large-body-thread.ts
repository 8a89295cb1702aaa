/** Scanning 20 MB takes up to a second, which would delay all streams of the gateway. */
import { serveRequests } from '../../adapters/worker-thread/request-thread.ts';
import type { ClientWire } from '../../gateway/json/client-wire.ts';
import { type ReadModelBody, readModelBody } from '../../gateway/json/request-body.ts';

export interface LargeBody {
  readonly bytes: Uint8Array;
  readonly wire: ClientWire;
}

serveRequests<LargeBody, ReadModelBody>(({ bytes, wire }) => readModelBody(bytes, wire));
