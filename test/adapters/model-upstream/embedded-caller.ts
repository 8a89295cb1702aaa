import {
  createEmbeddedUpstream,
  type EmbeddedUpstream,
} from '../../../src/adapters/model-upstream/embedded.ts';
import { createTextVectors } from '../../../src/adapters/networks/text-vectors.ts';
import type { ModelEndpoint, UpstreamAnswer } from '../../../src/ports/model-upstream.ts';
import { createManualClock } from '../../doubles/manual-clock.ts';
import { createSilentLog } from '../../doubles/silent-log.ts';
import { textIn } from '../../doubles/upstream-body.ts';

export const target = { id: 'embedded', baseUrl: null, model: 'embedded-chat', apiKey: null };

export function openUpstream(): EmbeddedUpstream {
  const [clock, log] = [createManualClock(), createSilentLog()];
  return createEmbeddedUpstream({ clock, log, encoder: createTextVectors({ clock, log }) });
}

export function callOf(endpoint: ModelEndpoint, body: unknown, signal = new AbortController().signal) {
  return { endpoint, body: new TextEncoder().encode(JSON.stringify(body)), headers: {}, signal };
}

export function bodyText(answer: UpstreamAnswer): Promise<string> {
  return textIn(answer.body);
}

/** The events of a stream, read as JSON, without the last. Fails where the last is not `[DONE]`. */
export async function eventsOf<T>(answer: UpstreamAnswer): Promise<T[]> {
  const events = (await bodyText(answer)).split('\n\n');
  if (events.pop() !== '' || events.pop() !== 'data: [DONE]') throw new Error('the stream has no end');
  return events.map((event) => JSON.parse(event.replace(/^data: /u, '')) as T);
}
