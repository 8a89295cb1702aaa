import { join } from 'node:path';
import { openSqliteJournal } from '../adapters/journal/sqlite-journal.ts';
import { createOtlpTracer } from '../adapters/tracer/otlp.ts';
import { createAnswerCipher } from '../domain/calls/idempotent-answer-cipher.ts';
import { createIdempotentCalls } from '../domain/calls/idempotent-calls.ts';
import { createCallBook } from '../domain/calls/settle-call.ts';
import { createHeldCredits } from '../domain/credits/held-credits.ts';
import { createKeyDirectory } from '../domain/keys/key-directory.ts';
import { type CallMeters, createCallMeters, withMeters } from '../gateway/call-meters.ts';
import { createRunningCalls } from '../gateway/mcp/running-calls.ts';
import type { GatewayParts } from '../gateway/server.ts';
import { createUnpaidEndings } from '../gateway/unpaid-endings.ts';
import { createClientAddress } from '../http/client-address.ts';
import type { Log } from '../ports/log.ts';
import type { Tracer } from '../ports/tracer.ts';
import type { Configuration } from './configuration.ts';
import { accepted } from './kept-secrets.ts';
import { consoleUrl } from './open-mail.ts';
import type { ModelParts } from './open-models.ts';
import type { Opening } from './start-service.ts';

/** Everything the gateway stands on besides what every process has. */
export async function openGatewayParts(
  opening: Opening,
  modelParts: ModelParts,
): Promise<Omit<GatewayParts, 'dependencies' | 'maxBodyBytes'> & { readonly meters: CallMeters }> {
  const { configuration, clock, secrets, database, sharedState } = opening;
  const log = opening.log.with({ service: 'gateway' });
  const unserved = modelParts.models.all().filter(({ targets }) => targets.length === 0);
  if (unserved.length > 0) {
    const aliases = unserved.map(({ alias }) => alias);
    log.warn('these models have no provider and answer 503: set MODEL_CONFIG or turnpike set-alias', {
      aliases,
    });
  }
  const keys = await createKeyDirectory({ database, sharedState, clock, secrets, log });
  opening.whenClosing('key directory', keys.close);
  const { commitDeadlineMs, maxCalls } = configuration.journal;
  const folder = join(configuration.dataDir, 'journal');
  const journal = openSqliteJournal({ folder, maxEntries: maxCalls, newId: secrets.newId, log });
  opening.whenClosing('journal', journal.close);
  const meters = createCallMeters();
  const calls = withMeters(createCallBook({ database, journal, clock, log, commitDeadlineMs }), meters);
  opening.whenClosing('call book', calls.close);
  const cipher = createAnswerCipher({ masterKeys: accepted(opening.ownSecrets, 'masterKey'), secrets });
  const { maxAnswerBytes } = configuration.idempotency;
  const idempotency = createIdempotentCalls({ database, clock, log, cipher, maxAnswerBytes });
  opening.whenClosing('idempotent calls', async () => idempotency.close());
  const running = await createRunningCalls({ sharedState, log });
  opening.whenClosing('running tool calls', running.close);
  return {
    clock,
    log,
    secrets,
    ...modelParts,
    keys,
    calls,
    meters,
    tracer: openTracer(opening, log),
    idempotency,
    heldCredits: createHeldCredits({ sharedState, log }),
    database,
    unpaidEndings: createUnpaidEndings({ clock, log }),
    clientAddress: createClientAddress(configuration.trustedProxies),
    idleTimeoutMs: configuration.upstream.idleTimeoutMs,
    bodyTimeoutMs: configuration.bodyTimeoutMs,
    consoleOrigin: new URL(consoleUrl(configuration)).origin,
    mcp: { running, checksHost: isReachedByItself(configuration) },
  };
}

/** Null while tracing is off. */
function openTracer(opening: Opening, log: Log): Tracer | null {
  const { configuration, clock, secrets } = opening;
  const { endpoint, headers, sampledPart } = configuration.traces;
  if (endpoint === null) return null;
  const own = { serviceName: 'turnpike-gateway', clock, secrets, log };
  const tracer = createOtlpTracer({ endpoint, headers, sampledPart, ...own });
  opening.whenClosing('traces', tracer.close);
  return tracer;
}

/** On loopback with nobody in between, so that every honest request names this machine as its host. */
function isReachedByItself({ host, trustedProxies }: Configuration): boolean {
  return ['127.0.0.1', '::1', 'localhost'].includes(host) && trustedProxies.length === 0;
}
