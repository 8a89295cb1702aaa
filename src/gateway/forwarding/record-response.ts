import {
  isObject,
  type JsonObject,
  parseJson,
} from '../../domain/model-calls/translation/responses/body-reading.ts';
import { speaks } from '../../domain/models/providers.ts';
import { contentOf, outputIds } from '../../domain/stored-responses/response-content.ts';
import type { Answering } from './end-call.ts';

interface MadeResponse {
  /** Of a stream that did not come to its end; null where none was seen. */
  readonly id: string | null;
  /** The response itself, or the last event of its stream; null where it did not come. */
  readonly last: Uint8Array | null;
  readonly isCharged: boolean;
}

/**
 * Records a response that can be read or continued later; null where there is none to record, and nothing is waited for.
 * One that its provider stores and nobody has paid for, because its client left, is charged when it is read.
 */
export function recordResponse(answering: Answering, made: MadeResponse): Promise<void> | null {
  const { call, target, parts } = answering;
  if (call.route.wire !== 'responses' || call.fields.store === false) return null;
  const isOurs = !speaks(target, 'responses');
  if (isOurs && (!parts.responses.isOn || made.last === null)) return null;
  const response = made.last === null ? null : responseIn(made.last);
  const id = typeof response?.id === 'string' ? response.id : made.id;
  if (id === null || response?.store === false || (isOurs && response === null)) return null;
  return parts.responses.record({
    id,
    companyId: call.key.companyId,
    keyId: call.key.id,
    alias: call.alias.alias,
    targetId: target.id,
    itemIds: response === null ? [] : outputIds(response),
    chargeCallId: isOurs || made.isCharged ? null : parts.secrets.newId(),
    content:
      isOurs && response !== null
        ? contentOf(parseJson(new TextDecoder().decode(call.bytes)), response)
        : null,
  });
}

/** Null where it is none. */
function responseIn(last: Uint8Array): JsonObject | null {
  const text = new TextDecoder().decode(last);
  const whole = parseJson(text);
  if (isObject(whole)) return whole;
  for (const line of text.split(/\r\n|\r|\n/)) {
    const event = line.startsWith('data:') ? parseJson(line.slice('data:'.length)) : undefined;
    if (isObject(event) && isObject(event.response)) return event.response;
  }
  return null;
}
