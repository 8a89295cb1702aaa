import {
  boundedEndUser,
  boundedTags,
  type CallAttribution,
  readTagsHeader,
  TAGS_HEADER,
} from '../../domain/calls/call-attribution.ts';
import type { BodyAttribution } from '../json/body-attribution.ts';
import type { Refusal } from './refusals.ts';

type Attributed =
  | { readonly outcome: 'attributed'; readonly attribution: CallAttribution | null }
  | { readonly outcome: 'refused'; readonly refusal: Refusal };

const NOTHING: Attributed = { outcome: 'attributed', attribution: null };

/**
 * Attributes a call to an end user, tags and a project, by its header, its body and its key. Tags of the header take
 * precedence over those of `metadata`, which clients also use for other purposes: excess metadata is cut off, while a header
 * beyond its limits is refused.
 */
export function attributionOf(
  request: Pick<Request, 'headers'>,
  ofBody: BodyAttribution | null,
  ofKey: string | null,
): Attributed {
  const header = request.headers.get(TAGS_HEADER);
  const project = ofKey ?? undefined;
  if (header === null && ofBody === null && project === undefined) return NOTHING;
  const ofHeader = header === null ? null : readTagsHeader(header);
  if (ofHeader?.outcome === 'refused') {
    return { outcome: 'refused', refusal: { name: 'invalidRequest', message: ofHeader.message } };
  }
  const user = ofBody?.user ?? ofBody?.safetyIdentifier;
  const endUser = user == null ? undefined : boundedEndUser(user);
  const tags = boundedTags([...(ofHeader?.tags ?? []), ...(ofBody?.tags ?? [])]);
  const isNothing = endUser === undefined && tags === undefined && project === undefined;
  return isNothing ? NOTHING : { outcome: 'attributed', attribution: { endUser, tags, project } };
}
