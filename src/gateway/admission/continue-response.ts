import { parseJson } from '../../domain/model-calls/translation/responses/body-reading.ts';
import type { Alias } from '../../domain/models/aliases.ts';
import { speaks } from '../../domain/models/providers.ts';
import { expandedBody } from '../../domain/stored-responses/response-content.ts';
import type { StoredResponse, StoredResponses } from '../../domain/stored-responses/stored-responses.ts';
import { isObject } from '../../ports/json-object.ts';
import { type EarlierResponses, type ModelBodyFields, readModelBody } from '../json/request-body.ts';
import type { ParseFields } from './read-parse-body.ts';
import type { Refusal } from './refusals.ts';

interface RequestedCall {
  readonly key: { readonly companyId: string };
  readonly alias: Alias;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly fields: ModelBodyFields | ParseFields;
}

interface ContinuationCall extends RequestedCall {
  readonly fields: ModelBodyFields & { readonly earlier: EarlierResponses };
}

type Continued =
  | ({ readonly outcome: 'continued' } & Pick<ContinuationCall, 'alias' | 'bytes'> & {
        readonly fields: ModelBodyFields;
      })
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

export function isContinuation(call: RequestedCall): call is ContinuationCall {
  return 'earlier' in call.fields && call.fields.earlier !== null;
}

/**
 * A call that refers to earlier responses. Only those of the company are found. A response stored at a provider can
 * only be continued by the target that has it; its body is passed on unchanged. A response stored here is inserted into
 * the body, and then any target that chat completions can be translated for may answer.
 */
export async function continueResponse(
  responses: StoredResponses,
  { key, alias, bytes, fields }: ContinuationCall,
): Promise<Continued> {
  const { earlier } = fields;
  const found = await responses.find(key.companyId, earlier);
  if (found.outcome === 'unavailable') return refused(UNAVAILABLE);
  const { previous, holders } = found;
  // Clients send references to reasoning on their own, and it can never be sent back.
  const dropped = new Set(found.missing.filter((id) => id !== earlier.responseId && id.startsWith('rs_')));
  const missing = found.missing.find((id) => !dropped.has(id));
  if (missing !== undefined) return refused(notFound(responses, alias, earlier, missing));
  const all = previous === null ? holders : [previous, ...holders];
  const pinned = pinnedAlias(alias, all);
  if (pinned.outcome === 'refused') return pinned;
  const isRewritten = dropped.size > 0 || all.some(({ content }) => content !== null);
  if (!isRewritten) return { outcome: 'continued', alias: pinned.alias, bytes, fields };

  const body = parseJson(new TextDecoder().decode(bytes));
  if (!isObject(body)) return refused(TOO_DEEP);
  const expanded = expandedBody(body, {
    previous: previous?.content ?? null,
    holders: holders.flatMap(({ content }) => content ?? []),
    dropped,
  });
  // A target that speaks Responses does not know an id that was created here.
  const isNamed = previous?.content == null || pinned.alias.targets.every((one) => !speaks(one, 'responses'));
  const written = isNamed ? expanded : { ...expanded, previous_response_id: null };
  const rewritten = new TextEncoder().encode(JSON.stringify(written));
  const read = readModelBody(rewritten, 'responses');
  if (read.outcome !== 'read') return refused({ name: 'invalidRequest', message: read.message });
  // A dropped id is left in a member whose name differs in case. Ids that the company does not have are never sent.
  if (read.fields.earlier?.itemIds.some((id) => dropped.has(id)) === true) return refused(AMBIGUOUS);
  return { outcome: 'continued', alias: pinned.alias, bytes: rewritten, fields: read.fields };
}

type Pinned =
  | { readonly outcome: 'pinned'; readonly alias: Alias }
  | Extract<Continued, { outcome: 'refused' }>;

function pinnedAlias(alias: Alias, all: readonly StoredResponse[]): Pinned {
  const [first, ...others] = all.filter(({ content }) => content === null);
  if (first === undefined) {
    const translated = alias.targets.filter((target) => !speaks(target, 'responses'));
    return { outcome: 'pinned', alias: translated.length === 0 ? alias : { ...alias, targets: translated } };
  }
  if (others.some(({ targetId }) => targetId !== first.targetId)) return refused(SEVERAL_TARGETS);
  const target = alias.targets.find(({ id }) => id === first.targetId);
  if (target !== undefined) return { outcome: 'pinned', alias: { ...alias, targets: [target] } };
  if (first.alias === alias.alias) return refused(PROVIDER_GONE);
  const message = `The response to continue is stored by a provider of ${first.alias}. Continue it with that model, or send the whole conversation in 'input'.`;
  return refused({ name: 'invalidRequest', message, param: 'model' });
}

function notFound(
  { isOn }: StoredResponses,
  { targets }: Alias,
  { responseId }: EarlierResponses,
  missing: string,
): Refusal {
  const param = missing === responseId ? 'previous_response_id' : 'input';
  const isNeverStored = !isOn && targets.every((target) => !speaks(target, 'responses'));
  if (isNeverStored) return { name: 'invalidRequest', message: NEVER_STORED, param };
  const what = param === 'input' ? 'An item that the input refers to' : 'The previous response';
  const message = `${what} does not exist: it was not stored, has expired or was deleted. Send the whole conversation in 'input'.`;
  return { name: 'notFound', message, param };
}

const NEVER_STORED =
  "Responses of this model are not stored. Send the whole conversation in 'input', and set store to false in your client; or ask the operator to set STORED_RESPONSES=on.";
const SEVERAL_TARGETS: Refusal = {
  name: 'invalidRequest',
  message:
    "The input refers to responses that different providers store. Send the whole conversation in 'input'.",
  param: 'input',
};
const PROVIDER_GONE: Refusal = {
  name: 'invalidRequest',
  message:
    "The provider that stores the response to continue is not configured any more. Send the whole conversation in 'input'.",
  param: 'previous_response_id',
};
const AMBIGUOUS: Refusal = {
  name: 'invalidRequest',
  message: "Write 'input' in lower case, once.",
  param: 'input',
};
const TOO_DEEP: Refusal = { name: 'invalidRequest', message: 'The body is nested too deeply.' };
const UNAVAILABLE: Refusal = {
  name: 'unavailable',
  message: 'Stored responses cannot be read right now. Retry with backoff.',
};

function refused(refusal: Refusal) {
  return { outcome: 'refused' as const, refusal };
}
