import { createHttpUpstream } from '../adapters/model-upstream/http.ts';
import { createInProcessState } from '../adapters/shared-state/in-process.ts';
import { createCallBook } from '../domain/calls/settle-call.ts';
import { createKeyDirectory } from '../domain/keys/key-directory.ts';
import { createLimits } from '../domain/limits/limits.ts';
import { applyModelConfig } from '../domain/models/apply-model-config.ts';
import { createCipher } from '../domain/models/cipher.ts';
import { createModelDirectory } from '../domain/models/model-directory.ts';
import type { GatewayParts } from '../gateway/server.ts';
import { createUnpaidEndings } from '../gateway/unpaid-endings.ts';
import { createClientAddress } from '../http/client-address.ts';
import type { ModelUpstream } from '../ports/model-upstream.ts';
import type { Parts } from './connect.ts';
import { needed } from './kept-secrets.ts';
import { StartProblem } from './start-problem.ts';
import type { Opening } from './start-service.ts';

/** Everything the gateway stands on besides what every process has. */
export async function openGatewayParts(
  opening: Opening,
): Promise<Omit<GatewayParts, 'dependencies' | 'maxBodyBytes'>> {
  const { configuration, clock, secrets, database, sharedState } = opening;
  const log = opening.log.with({ service: 'gateway' });
  const catalogue = catalogueParts(opening);
  await applyConfiguredModels(opening);
  const models = await createModelDirectory({
    ...catalogue,
    clock,
    log,
    embeddedAllowed: !configuration.isProduction,
  });
  opening.whenClosing('model directory', models.close);
  const unserved = models.all().filter(({ targets }) => targets.length === 0);
  if (unserved.length > 0) {
    const aliases = unserved.map(({ alias }) => alias);
    log.warn('these models have no provider and answer 503: set MODEL_CONFIG or turnpike set-alias', {
      aliases,
    });
  }
  const keys = await createKeyDirectory({ database, sharedState, clock, secrets, log });
  opening.whenClosing('key directory', keys.close);
  const calls = createCallBook({ database, clock, log });
  opening.whenClosing('call book', calls.close);
  const ownState = createInProcessState({ clock, log });
  const { addressRequestsPerMinute } = configuration;
  return {
    clock,
    log,
    secrets,
    models,
    keys,
    calls,
    limits: createLimits({ sharedState, ownState, clock, log, addressRequestsPerMinute }),
    upstream: openUpstream(opening),
    unpaidEndings: createUnpaidEndings({ clock, log }),
    clientAddress: createClientAddress(configuration.trustedProxies),
    idleTimeoutMs: configuration.upstream.idleTimeoutMs,
    bodyTimeoutMs: configuration.bodyTimeoutMs,
  };
}

/** What reading and changing the aliases needs. */
export function catalogueParts({ configuration, database, sharedState, secrets, ownSecrets, log }: Parts) {
  const cipher = createCipher({ masterKey: needed(ownSecrets, 'masterKey'), secrets });
  return { database, sharedState, secrets, cipher, log, prefix: configuration.aliasPrefix };
}

async function applyConfiguredModels(opening: Opening): Promise<void> {
  const applied = await applyModelConfig(catalogueParts(opening), opening.configuration.models);
  if (applied.outcome === 'refused') throw new StartProblem(`MODEL_CONFIG: ${applied.problem}`);
  if (applied.outcome === 'changed') {
    opening.log.info('model aliases were changed by MODEL_CONFIG', { aliases: applied.aliases });
  }
}

/** Providers over HTTP, and the embedded models, which are loaded when somebody first asks for them. */
function openUpstream(opening: Opening): ModelUpstream {
  const { configuration, clock, log } = opening;
  // Through a proxy a direct connection to the provider proves nothing.
  const trial = configuration.hasHttpProxy ? { connect: null } : {};
  const http = createHttpUpstream({ clock, log, ...configuration.upstream, ...trial });
  opening.whenClosing('providers', http.close);
  let embedded: Promise<ModelUpstream & { close(): Promise<void> }> | null = null;
  opening.whenClosing('embedded models', async () => await (await embedded)?.close());
  async function loadEmbedded() {
    const { createEmbeddedUpstream } = await import('../adapters/model-upstream/embedded.ts');
    return createEmbeddedUpstream({ clock, log });
  }
  return {
    async send(target, call) {
      if (target.baseUrl !== null) return await http.send(target, call);
      embedded ??= loadEmbedded();
      return await (await embedded).send(target, call);
    },
  };
}
