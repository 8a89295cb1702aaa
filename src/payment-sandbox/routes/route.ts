import { invalid, type RefusalFields } from '../api-errors.ts';
import type { Params } from '../request-params.ts';
import type { Kind, ListedObjects, ListQuery, ObjectStore, Trial } from '../state/object-store.ts';
import type { Turn } from '../state/transaction.ts';

/** Reads query the current state; writes change it within one turn. */
export type Route =
  | {
      readonly method: 'GET';
      readonly path: string;
      readonly read: (objects: ObjectStore, call: Call) => Promise<object>;
    }
  | {
      readonly method: 'GET';
      readonly path: string;
      /** Returns what a change would result in. */
      readonly preview: (turn: Turn, call: Call) => Promise<object>;
    }
  | {
      readonly method: 'POST' | 'DELETE';
      readonly path: string;
      readonly write: (turn: Turn, call: Call) => Promise<object | Reply>;
    };

/** One API request. */
export interface Call {
  readonly params: Params;
  /** The value of `:id` in the path. */
  readonly id: string;
}

/** An answer whose changes are kept even if it is an error, such as a declined card. */
export interface Reply {
  readonly status: number;
  readonly body: object;
}

export function failing(status: number, error: RefusalFields): Reply {
  return { status, body: { error } };
}

export function isReply(answer: object): answer is Reply {
  return 'status' in answer && typeof answer.status === 'number' && 'body' in answer;
}

interface ListObject {
  readonly object: 'list';
  readonly data: readonly object[];
  readonly has_more: boolean;
  readonly url: string;
}

export function listObject(url: string, data: readonly object[], hasMore = false): ListObject {
  return { object: 'list', data, has_more: hasMore, url };
}

/** One page of the objects of one type, filtered by `more` and by the time of creation. */
export async function listOf<K extends Kind>(
  objects: ObjectStore,
  call: Call,
  kind: K,
  url: string,
  more: ListQuery = {},
): Promise<ListObject> {
  const { startingAfter, endingBefore, ...page } = pageOf(call);
  for (const cursor of [startingAfter, endingBefore]) {
    if (cursor === undefined || (await objects.find(kind, cursor)) !== null) continue;
    const param = cursor === startingAfter ? 'starting_after' : 'ending_before';
    throw invalid(`No such ${kind}: '${cursor}'`, param, 'resource_missing');
  }
  const { data, hasMore }: ListedObjects<K> = await objects.list(kind, {
    ...page,
    startingAfter,
    endingBefore,
    ...more,
  });
  return listObject(url, data, hasMore);
}

export function filters(params: Params, names: readonly string[]): Record<string, string | boolean> {
  const found: Record<string, string | boolean> = {};
  for (const name of names) {
    const value = params.text(name, 255);
    if (value !== undefined) found[name] = value === 'true' ? true : value === 'false' ? false : value;
  }
  return found;
}

const MISSING_CARD = ['cancel', 'create_invoice', 'pause'] as const;

/** The trial of a subscription, from its own parameters or those of a checkout session. */
export function trialOf(params: Params | undefined): Trial {
  const ending = params?.group('trial_settings')?.group('end_behavior');
  return {
    trialDays: params?.whole('trial_period_days', { min: 1, max: 730 }) ?? null,
    missingCard: ending?.choice('missing_payment_method', MISSING_CARD) ?? 'create_invoice',
  };
}

/** The parameters of every list. */
function pageOf({ params }: Call): ListQuery {
  const range = params.has('created') ? createdOf(params) : {};
  return {
    limit: params.whole('limit', { min: 1, max: 100 }) ?? 10,
    startingAfter: params.text('starting_after', 255),
    endingBefore: params.text('ending_before', 255),
    ...range,
  };
}

function createdOf(params: Params): Pick<ListQuery, 'createdFrom' | 'createdUntil'> {
  const group = params.group('created');
  if (group === undefined) return {};
  const bounds = { min: 0, max: 99_999_999_999 };
  const [gte, gt] = [group.whole('gte', bounds), group.whole('gt', bounds)];
  const [lte, lt] = [group.whole('lte', bounds), group.whole('lt', bounds)];
  return {
    createdFrom: gte ?? (gt === undefined ? undefined : gt + 1),
    createdUntil: lte ?? (lt === undefined ? undefined : lt - 1),
  };
}
