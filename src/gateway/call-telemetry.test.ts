import { expect, test } from 'bun:test';
import { finishedCall } from '../../test/doubles/finished-calls.ts';
import type { CallBook } from '../domain/calls/settlement/settle-call.ts';
import { metricsText } from '../http/metrics.ts';
import { createCallMeters, withMeters } from './call-telemetry.ts';

const COMPANY = '01890a5d-ac96-774b-bcce-b302099a8057';

function linesOf(text: string, name: string): string[] {
  return text.split('\n').filter((line) => line.startsWith(name));
}

test('calls are counted by endpoint, alias, outcome and reason, and by no unbounded label', () => {
  const meters = createCallMeters();
  meters.count(finishedCall(COMPANY));
  meters.count(finishedCall(COMPANY, { durationMs: 40, firstByteMs: null }));
  meters.count(
    finishedCall(COMPANY, { outcome: 'REFUSED', reason: 'RATE_LIMITED', alias: null, tokens: null }),
  );
  meters.countUnknown('unauthenticated');
  const text = metricsText(meters.metrics());
  expect(linesOf(text, 'turnpike_calls_total')).toEqual([
    'turnpike_calls_total{endpoint="chat/completions",alias="svc/chat-default",outcome="SUCCEEDED",reason="none"} 2',
    'turnpike_calls_total{endpoint="chat/completions",alias="none",outcome="REFUSED",reason="RATE_LIMITED"} 1',
  ]);
  expect(linesOf(text, 'turnpike_unknown_requests_total')).toEqual([
    'turnpike_unknown_requests_total{refusal="unauthenticated"} 1',
  ]);
  expect(linesOf(text, 'turnpike_tokens_total')).toEqual([
    'turnpike_tokens_total{alias="svc/chat-default",kind="prompt"} 20',
    'turnpike_tokens_total{alias="svc/chat-default",kind="cached"} 8',
    'turnpike_tokens_total{alias="svc/chat-default",kind="completion"} 34',
  ]);
  expect(text).not.toContain(COMPANY);
});

test('durations are histograms with cumulative buckets; a refused call has none', () => {
  const meters = createCallMeters();
  for (const durationMs of [5, 10, 11, 200_000]) meters.count(finishedCall(COMPANY, { durationMs }));
  meters.count(finishedCall(COMPANY, { outcome: 'REFUSED' }));
  const text = metricsText(meters.metrics());
  expect(text).toContain('# TYPE turnpike_call_duration_seconds histogram');
  const place = 'endpoint="chat/completions",alias="svc/chat-default"';
  const lines = linesOf(text, 'turnpike_call_duration_seconds');
  expect(lines).toContain(`turnpike_call_duration_seconds_bucket{${place},le="0.01"} 2`);
  expect(lines).toContain(`turnpike_call_duration_seconds_bucket{${place},le="0.025"} 3`);
  expect(lines).toContain(`turnpike_call_duration_seconds_bucket{${place},le="120"} 3`);
  expect(lines).toContain(`turnpike_call_duration_seconds_bucket{${place},le="+Inf"} 4`);
  expect(lines).toContain(`turnpike_call_duration_seconds_count{${place}} 4`);
  expect(lines).toContain(`turnpike_call_duration_seconds_sum{${place}} 200.026`);
});

test('calls that are recorded are counted and reach the recorder', async () => {
  const meters = createCallMeters();
  const recorded: string[] = [];
  const book = {
    settle: async ({ id }) => {
      recorded.push(id);
      return { outcome: 'not-written', error: null };
    },
    note: ({ id }) => void recorded.push(id),
    hasRoom: () => true,
    droppedCount: () => 0,
    journalState: () => ({ waiting: 0, setAside: 0 }),
    close: async () => {},
  } satisfies CallBook;
  const metered = withMeters(book, meters);
  const [paid, read] = [finishedCall(COMPANY), finishedCall(COMPANY)];
  await metered.settle(paid);
  metered.note(read);
  expect(recorded).toEqual([paid.id, read.id]);
  expect(linesOf(metricsText(meters.metrics()), 'turnpike_calls_total')[0]).toEndWith(' 2');
});
