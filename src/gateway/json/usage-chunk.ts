import type { StreamUsageChunk } from '../../domain/keys/api-key.ts';
import { asksForUsage, type ModelBodyFields } from './request-body.ts';

interface StreamedCall {
  readonly key: { readonly streamUsageChunk: StreamUsageChunk | null };
  readonly bytes: Uint8Array;
  readonly fields: Pick<ModelBodyFields, 'streamOptions'>;
}

/**
 * Whether the usage chunk is removed from a stream. It is requested for every stream, because charges are based on it, but
 * not every client can read it. `setting` applies if the key has no setting of its own.
 */
export function hidesUsageChunk(
  setting: 'always' | 'asked' = 'always',
  { key, bytes, fields }: StreamedCall,
): boolean {
  const isShownUnasked = (key.streamUsageChunk?.toLowerCase() ?? setting) === 'always';
  return !isShownUnasked && !asksForUsage(bytes, fields);
}
