import type { UnpricedCalls } from '../../domain/limits/unpriced-calls.ts';
import type { HostedPlan } from '../../domain/model-calls/paid-call.ts';
import type { Alias } from '../../domain/models/aliases.ts';
import type { RequestedTiers } from '../../domain/models/tiers/tiers.ts';
import {
  distinctFields,
  type UnpricedField,
  type UnpricedFieldsMode,
} from '../../domain/models/tiers/unpriced-fields.ts';
import type { ModelBodyFields } from '../json/request-body.ts';
import { usableFallbacks } from './fallback-aliases.ts';
import { planTools, type ToolModes } from './hosted-tools.ts';
import type { ParseFields } from './read-parse-body.ts';
import type { Refusal } from './refusals.ts';
import type { Route } from './routes.ts';
import { planTiers } from './tier-refusal.ts';

export interface PricingParts {
  readonly unpricedCalls: UnpricedCalls;
  /** UNPRICED_FIELDS; `forward` by default. */
  readonly unpricedFields?: UnpricedFieldsMode;
  /** What happens to optional hosted tools that the model does not have; by default what happens to others. */
  readonly unavailableTools?: ToolModes['unavailable'];
}

interface PlainCall {
  readonly alias: Alias;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly fields: ModelBodyFields | ParseFields;
}

interface CallToPrice {
  readonly requested: PlainCall & {
    readonly route: Route;
    readonly key: { readonly companyId: string };
    readonly fallbacks?: readonly Alias[] | undefined;
  };
  /** As it is sent: the same, unless it continues an earlier response or its alias drops fields. */
  readonly call: PlainCall;
  readonly isContinued: boolean;
  readonly request: Pick<Request, 'headers'>;
}

interface PricedCall extends PlainCall {
  readonly outcome: 'planned';
  readonly fallbacks: readonly Alias[] | undefined;
  readonly hosted: HostedPlan | null;
  readonly dropped: readonly string[] | undefined;
  readonly tiers: RequestedTiers | null;
  /** What is forwarded although no price covers it; empty for nearly every call. */
  readonly unpriced: readonly UnpricedField[];
}

type PlannedPrices = PricedCall | { readonly outcome: 'refused'; readonly refusal: Refusal };

/**
 * What a call may cost besides its tokens, and what of it no price covers. Calls with unpriced fields are forwarded until their
 * company has had too many answers with an unknown cost today. Then they are handled as where such fields are refused.
 */
export function planPrices(parts: PricingParts, call: CallToPrice): PlannedPrices | Promise<PlannedPrices> {
  const planned = plan(parts, call, parts.unpricedFields ?? 'forward');
  return planned.outcome === 'refused' || planned.unpriced.length === 0
    ? planned
    : unlessSpent(parts, call, planned);
}

async function unlessSpent(
  parts: PricingParts,
  call: CallToPrice,
  planned: PricedCall,
): Promise<PlannedPrices> {
  const { unpricedCalls } = parts;
  if (!(await unpricedCalls.isSpent(call.requested.key.companyId))) return planned;
  const priced = plan(parts, call, 'refuse');
  return priced.outcome === 'planned' ? priced : limitReached(planned.unpriced, unpricedCalls.perDay);
}

function plan(
  { unavailableTools }: PricingParts,
  { requested, call, isContinued, request }: CallToPrice,
  unpriced: UnpricedFieldsMode,
): PlannedPrices {
  const { route } = requested;
  const tools = planTools(route, call, request, { unavailable: unavailableTools, unpriced });
  if (tools?.outcome === 'refused') return tools;
  const { alias, bytes, fields } = tools ?? call;
  const usable = usableFallbacks(requested.fallbacks, isContinued, fields);
  const priced = planTiers({ route, alias, bytes, fields, fallbacks: usable }, unpriced);
  if (priced.outcome === 'refused') return priced;
  const { tiers, fallbacks } = priced;
  const hosted = tools?.plan ?? null;
  const forwarded = tools === null ? priced.unpriced : [...tools.unpriced, ...priced.unpriced];
  return {
    outcome: 'planned',
    alias,
    bytes,
    fields,
    fallbacks,
    hosted,
    dropped: tools?.dropped,
    tiers,
    unpriced: marked(alias, forwarded),
  };
}

/** Nothing where the operator pays nothing: with the company's own provider key, and for the embedded models. */
function marked({ ownKey, targets }: Alias, fields: readonly UnpricedField[]): readonly UnpricedField[] {
  if (fields.length === 0 || ownKey !== undefined) return NOTHING;
  return targets.every(({ baseUrl }) => baseUrl === null) ? NOTHING : distinctFields(fields);
}

const NOTHING: readonly UnpricedField[] = [];

function limitReached(fields: readonly UnpricedField[], perDay: number): PlannedPrices {
  const names = fields.map(({ name }) => `'${name}'`).join(', ');
  const message = `Your company had more than ${perDay} calls today for which the provider reported a cost that this model has no price for. Until 00:00 UTC calls with ${names} are refused. Leave it out, or ask the operator of the gateway to set a price factor or tool price for this model, or to raise UNPRICED_CALLS_PER_DAY.`;
  const [first] = fields;
  const param = first === undefined ? null : (MEMBERS[first.kind] ?? first.name);
  return { outcome: 'refused', refusal: { name: 'unpricedLimit', message, param } };
}

/** The members of the body, where they have other names. */
const MEMBERS: Partial<Record<UnpricedField['kind'], string>> = { tool: 'tools', audio: 'modalities' };
