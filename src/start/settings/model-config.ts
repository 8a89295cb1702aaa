import { z } from 'zod';

const LARGEST_BYTES = 1024 * 1024;

const price = z.strictObject({
  prompt: z.number().nonnegative(),
  cached: z.number().nonnegative(),
  completion: z.number().nonnegative(),
});

const target = z.strictObject({
  base_url: z.url({ protocol: /^https?$/ }),
  model: z.string().min(1).max(200),
  api_key: z.string().min(1).max(4_096).optional(),
  weight: z.number().positive().max(1_000_000).default(1),
});

const alias = z.strictObject({
  targets: z.array(target).max(32).optional(),
  price: price.optional(),
  context_length: z.int().positive().max(1_000_000_000).optional(),
  max_output_tokens: z.int().positive().max(1_000_000_000).optional(),
  enforce_max_output: z.boolean().optional(),
});

/** The file behind MODEL_CONFIG: which providers stand behind an alias, and what it costs in credits a million. */
const modelConfig = z.strictObject({ aliases: z.record(z.string().min(1).max(100), alias) });

export type ModelConfig = z.output<typeof modelConfig>['aliases'];

/** The file's aliases; what is wrong with it goes to `problems`, without a value of it: it holds keys. */
export function readModelConfig(
  path: string,
  readText: (path: string) => string,
  problems: string[],
): ModelConfig {
  const complain = (what: string): ModelConfig => {
    problems.push(`MODEL_CONFIG: ${path} ${what}`);
    return {};
  };
  let text: string;
  try {
    text = readText(path);
  } catch {
    return complain('cannot be read: check the path and its permissions');
  }
  if (text.length > LARGEST_BYTES) return complain(`is larger than ${LARGEST_BYTES} bytes`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return complain('is not valid JSON');
  }
  const read = modelConfig.safeParse(parsed);
  if (read.success) return read.data.aliases;
  const [issue] = read.error.issues;
  return complain(`is wrong at ${issue?.path.join('.') || 'its top'}: ${issue?.message ?? 'unknown'}`);
}
