import type { ObjectStore } from './object-store.ts';
import { invalid } from './refusal.ts';

const MAX_PATHS = 20;
const MAX_DEPTH = 4;

type Fields = Record<string, unknown>;

/** Puts whole objects where only their ids stand, as `expand[]` asks: `latest_invoice.payment_intent`, `line_items`. */
export async function expand(objects: ObjectStore, body: object, paths: readonly string[]): Promise<object> {
  if (paths.length > MAX_PATHS) throw invalid(`You can expand at most ${MAX_PATHS} properties.`, 'expand');
  let expanded = body as Fields;
  for (const path of paths) {
    const steps = path.split('.');
    if (steps.length > MAX_DEPTH) {
      throw invalid(`You cannot expand more than ${MAX_DEPTH} levels of a property.`, 'expand');
    }
    expanded = await expandStep(objects, expanded, steps, path);
  }
  return expanded;
}

async function expandStep(
  objects: ObjectStore,
  body: Fields,
  [step, ...rest]: readonly string[],
  path: string,
): Promise<Fields> {
  if (step === undefined) return body;
  const value = step === 'line_items' ? await lineItems(objects, body) : body[step];
  if (value === undefined) {
    throw invalid(`This property cannot be expanded (${path.slice(0, 100)}).`, 'expand');
  }
  if (Array.isArray(value)) {
    const each = value.map((one: Fields) => expandStep(objects, one, rest, path));
    return { ...body, [step]: await Promise.all(each) };
  }
  const found = typeof value === 'string' ? ((await objects.findAny(value)) ?? value) : value;
  const isWhole = typeof found === 'object' && found !== null;
  const whole = isWhole ? await expandStep(objects, found as Fields, rest, path) : found;
  return { ...body, [step]: whole };
}

async function lineItems(objects: ObjectStore, { object, id }: Fields): Promise<object | undefined> {
  if (object !== 'checkout.session' || typeof id !== 'string') return undefined;
  const kept = await objects.find('checkout.session', id);
  const url = `/v1/checkout/sessions/${id}/line_items`;
  return { object: 'list', data: kept?.hidden.lines ?? [], has_more: false, url };
}
