import type { StreamUsageChunk } from '../../domain/keys/api-key.ts';
import { asksForUsage, type ModelBodyFields } from './request-body.ts';

interface StreamedCall {
  readonly key: { readonly streamUsageChunk: StreamUsageChunk | null };
  readonly bytes: Uint8Array;
  readonly fields: Pick<ModelBodyFields, 'streamOptions'>;
}

/**
 * Whether a stream is shown without its usage chunk. That is requested for every stream, because it is charged by; not
 * every client can read it. `setting` applies where the key has no choice of its own.
 */
export function hidesUsageChunk(
  setting: 'always' | 'asked' = 'always',
  { key, bytes, fields }: StreamedCall,
): boolean {
  const isShownUnasked = (key.streamUsageChunk?.toLowerCase() ?? setting) === 'always';
  return !isShownUnasked && !asksForUsage(bytes, fields);
}
