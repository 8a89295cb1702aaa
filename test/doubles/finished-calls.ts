import { createSystemSecrets } from '../../src/adapters/secrets/system-secrets.ts';
import type { FinishedCall } from '../../src/domain/calls/settlement/finished-call.ts';

const { newId } = createSystemSecrets();

/** A call that is charged 76 micro-credits by the first prices: 6 x 1 + 4 x 0.5 + 17 x 4. */
export function finishedCall(companyId: string, changes: Partial<FinishedCall> = {}): FinishedCall {
  return {
    id: newId(),
    companyId,
    keyId: null,
    requestId: 'req_1',
    endpoint: 'chat/completions',
    alias: 'svc/chat-default',
    targetId: 'embedded',
    outcome: 'SUCCEEDED',
    reason: null,
    httpStatus: 200,
    streamed: true,
    tokens: { promptTokens: 10, cachedTokens: 4, completionTokens: 17 },
    estimatedTokens: 1_010,
    startedAtMs: Date.UTC(2026, 0, 31, 12),
    firstByteMs: 12,
    durationMs: 34,
    monthlyLimitMicro: null,
    ...changes,
  };
}
