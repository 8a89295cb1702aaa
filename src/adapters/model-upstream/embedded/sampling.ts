import { z } from 'zod';

/** What chat and the legacy completions have in common. What a model without chance has no use for is ignored. */
export const samplingFields = {
  n: z.int().min(1).max(16).nullish(),
  max_tokens: z.int().min(0).nullish(),
  stop: z.union([z.string(), z.array(z.string()).max(4)]).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.object({ include_usage: z.boolean().nullish() }).nullish(),
};

export interface Sampling {
  readonly choices: number;
  readonly stop: readonly string[];
  readonly isStream: boolean;
  readonly includesUsage: boolean;
}

type SamplingFields = z.infer<z.ZodObject<typeof samplingFields>>;

export function samplingOf({ n, stop, stream, stream_options }: SamplingFields): Sampling {
  return {
    choices: n ?? 1,
    // An empty stop would end every answer before it begins.
    stop: (typeof stop === 'string' ? [stop] : (stop ?? [])).filter((one) => one !== ''),
    isStream: stream === true,
    includesUsage: stream_options?.include_usage === true,
  };
}

/** The text before the first of the stops. */
export function beforeStop(text: string, stops: readonly string[]): string {
  const places = stops.map((stop) => text.indexOf(stop)).filter((place) => place >= 0);
  return places.length === 0 ? text : text.slice(0, Math.min(...places));
}
