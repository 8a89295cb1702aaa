import type { ValidationRule } from 'graphql';
import { costLimit } from './query-limits/cost.ts';
import { aliasLimit, directiveLimit, mutationLimit } from './query-limits/counts.ts';
import { depthLimit } from './query-limits/depth.ts';

/** The console's largest query is 6 levels deep and costs some 1,500. */
export const QUERY_LIMITS = {
  tokens: 2_000,
  depth: 10,
  cost: 10_000,
  aliases: 30,
  directives: 30,
  mutations: 5,
} as const;

/** Checked with the document, before anything runs; tokens are counted while it is parsed. */
export const queryLimitRules: readonly ValidationRule[] = [
  depthLimit(QUERY_LIMITS.depth),
  costLimit(QUERY_LIMITS.cost),
  aliasLimit(QUERY_LIMITS.aliases),
  directiveLimit(QUERY_LIMITS.directives),
  mutationLimit(QUERY_LIMITS.mutations),
];
