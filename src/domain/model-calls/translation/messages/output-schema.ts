import { isObject } from '../../../../ports/json-object.ts';
import { type JsonObject, refuse } from './members.ts';

/**
 * Converts a JSON schema to what Anthropic accepts for structured output: every object closed, and no limits on values.
 * Anthropic's own libraries close objects and move the limits into the description, for the model to read; so does
 * this. An object whose property names are not known in advance would lose them, and is refused.
 */
export function schemaForMessages(schema: JsonObject): JsonObject {
  const converted: JsonObject = {};
  const moved: string[] = [];
  for (const [name, value] of Object.entries(schema)) {
    if (BOUNDS.has(name)) moved.push(`${name}: ${JSON.stringify(value)}`);
    else converted[name] = translatedKeyword(name, value);
  }
  if (schema.type === 'object' || isObject(schema.properties)) {
    if (!isObject(schema.properties) || isObject(schema.additionalProperties)) refuse(SCHEMA, OPEN_OBJECT);
    converted.additionalProperties = false;
  }
  if (moved.length === 0) return converted;
  const described = typeof schema.description === 'string' ? `${schema.description}\n\n` : '';
  return { ...converted, description: `${described}{${moved.join(', ')}}` };
}

const SCHEMA = 'response_format.json_schema.schema';
const OPEN_OBJECT = `Every object in '${SCHEMA}' must list its properties for this model: it writes no others.`;

const BOUNDS = new Set([
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'uniqueItems', 'minProperties', 'maxProperties'],
]);

/** Keywords that contain schemas by name, and those that contain one schema or a list. */
const NAMED = new Set(['properties', '$defs', 'definitions']);
const NESTED = new Set(['items', 'anyOf', 'allOf', 'oneOf', 'prefixItems']);

function translatedKeyword(name: string, value: unknown): unknown {
  if (NAMED.has(name) && isObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, translatedSchema(inner)]));
  }
  if (!NESTED.has(name)) return value;
  return Array.isArray(value) ? value.map(translatedSchema) : translatedSchema(value);
}

function translatedSchema(schema: unknown): unknown {
  return isObject(schema) ? schemaForMessages(schema) : schema;
}
