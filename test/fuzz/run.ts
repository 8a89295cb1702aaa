/**
 * `npm run fuzz`: more of what a part of is in every `npm run test:slow`. `npm run fuzz -- http 100000 7` takes the number of cases
 * and the seed; without a seed another one is drawn, and printed.
 */
import { fuzzAnswers } from './answers-of-providers.ts';
import { fuzzMessages } from './messages-translators.ts';
import { fuzzRequestBodies } from './request-bodies.ts';
import { fuzzResponsesToChat } from './responses-to-chat.ts';

const FUZZERS = {
  http: fuzzAnswers,
  bodies: fuzzRequestBodies,
  messages: fuzzMessages,
  responses: fuzzResponsesToChat,
} as const;
const STEP = 5_000;

const [name = 'http', count = '100000', seed = String(Date.now() % 1_000_000)] = process.argv.slice(2);
const fuzz = Object.hasOwn(FUZZERS, name) ? FUZZERS[name as keyof typeof FUZZERS] : null;
if (fuzz === null || !/^\d+$/.test(count) || !/^\d+$/.test(seed)) {
  console.error(`Usage: npm run fuzz -- [${Object.keys(FUZZERS).join(' | ')}] [cases] [seed]`);
  process.exit(2);
}
const totals: Record<string, number> = {};
for (let from = 0; from < Number(count); from += STEP) {
  const { seen } = await fuzz(Number(seed) + from, Math.min(STEP, Number(count) - from));
  for (const [kind, cases] of Object.entries(seen)) totals[kind] = (totals[kind] ?? 0) + cases;
}
console.log(`${name}: ${count} cases from seed ${seed}: ${JSON.stringify(totals)}`);
process.exit(0);
