import { type AfterCalls, createAfterCalls } from '../../domain/call-hooks/after-calls.ts';
import type { CallBook } from '../../domain/calls/settlement/settle-call.ts';
import { type CallHook, createCallHook } from '../../gateway/admission/call-hook.ts';
import { gauge, type MetricSource } from '../../http/metrics.ts';
import type { Opening } from '../processes/start-service.ts';
import { hookWebhooks } from './open-hook-deliveries.ts';

interface OpenedHooks {
  /** Null if there is no hook before calls. */
  readonly callHook: CallHook | null;
  /** The given book, unless there is a hook after calls. */
  readonly calls: CallBook;
  /** Null if there is no hook at all. */
  readonly metrics: MetricSource | null;
}

/**
 * The operator's hooks around calls. Their addresses are set in the environment, but UPSTREAM_PRIVATE_NETWORKS applies
 * to them too.
 */
export function openCallHooks(opening: Opening, calls: CallBook, log: Opening['log']): OpenedHooks {
  const { configuration, clock, databaseClock, database, secrets } = opening;
  const { before, afterUrl, secrets: signing } = configuration.callHooks;
  if (before === null && afterUrl === null) return { callHook: null, calls, metrics: null };
  const webhooks = hookWebhooks(opening);
  const callHook =
    before === null ? null : createCallHook({ ...before, webhooks, clock, log, secrets: signing });
  const hook = afterUrl === null ? null : { url: afterUrl, secrets: signing };
  const after =
    hook === null
      ? null
      : createAfterCalls({ ...{ database, clock: databaseClock, log, secrets, webhooks, hook } });
  if (after !== null) opening.whenClosing('hook after calls', after.close);
  return {
    callHook,
    calls: after === null ? calls : withAfterCalls(calls, after),
    metrics: hookMetrics(callHook, after),
  };
}

function withAfterCalls(book: CallBook, after: AfterCalls): CallBook {
  return {
    ...book,
    settle(call, onSent) {
      const settling = book.settle(call, onSent);
      // Noted once the call is charged or in the journal; the call itself does not wait for it.
      settling.then(
        ({ outcome }) => outcome !== 'not-written' && after.note(call),
        () => undefined,
      );
      return settling;
    },
    note(call) {
      book.note(call);
      after.note(call);
    },
  };
}

function hookMetrics(callHook: CallHook | null, after: AfterCalls | null): MetricSource {
  const samples = (counts: Readonly<Record<string, number>>) =>
    Object.entries(counts).map(([outcome, value]) => ({ labels: { outcome }, value }));
  return {
    counters: () => [
      {
        ...{ name: 'turnpike_call_hook_decisions_total', type: 'counter' },
        help: 'Decisions of the pre-call hook. Failed and skipped: no decision was received.',
        samples: samples(callHook?.counts() ?? {}),
      },
      {
        ...{ name: 'turnpike_call_hook_records_total', type: 'counter' },
        help: 'Records of calls for the hook after them; deferred: sent again later, dropped: too many waited.',
        samples: samples(after?.counts() ?? {}),
      },
    ],
    gauges: () => [
      gauge('turnpike_call_hook_open', '1 while the breaker of the hook before calls is open.', 'max', [
        { value: callHook?.isOpen() === true ? 1 : 0 },
      ]),
    ],
  };
}
