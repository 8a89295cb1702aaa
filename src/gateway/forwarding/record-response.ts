import { parseJson } from '../../domain/model-calls/translation/responses/body-reading.ts';
import { speaks } from '../../domain/models/providers.ts';
import { contentOf, outputIds } from '../../domain/stored-responses/response-content.ts';
import { isObject, type JsonObject } from '../../ports/json-object.ts';
import type { Answering, EndedResponse } from './end-call.ts';

interface MadeResponse {
  /** For an incomplete stream; null if it had none. */
  readonly id: string | null;
  /** The response itself, or the last event of its stream; null if it did not arrive. */
  readonly last: Uint8Array | null;
  readonly isCharged: boolean;
}

/**
 * The record of a response that can be read or continued later, written with the commit of its call; null if there is
 * none. A response that its provider stores and that was not charged, because its client disconnected, is charged when
 * it is read.
 */
export function responseRecord(
  answering: Pick<Answering, 'parts' | 'call' | 'target'>,
  made: MadeResponse,
): EndedResponse {
  const { call, target, parts } = answering;
  if (call.route.endpoint !== 'responses' || call.fields.store === false) return null;
  const isOurs = !speaks(target, 'responses');
  if (isOurs && (!parts.responses.isOn || made.last === null)) return null;
  const response = made.last === null ? null : responseIn(made.last);
  const id = typeof response?.id === 'string' ? response.id : made.id;
  if (id === null || response?.store === false || (isOurs && response === null)) return null;
  return parts.responses.recordOf({
    id,
    companyId: call.key.companyId,
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
  const text = DECODER.decode(last);
  const data = text.startsWith('{') ? undefined : DATA_LINE.exec(text)?.[1];
  const value = parseJson(data ?? text);
  if (!isObject(value)) return null;
  if (data === undefined) return value;
  return isObject(value.response) ? value.response : null;
}

const DECODER = new TextDecoder();
/** Not in an answer that is not streamed: no line of JSON begins like this. */
const DATA_LINE = /^data:([^\r\n]*)/m;
