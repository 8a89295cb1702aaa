import { useLayoutEffect, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import { useFilters } from '../../operations/filters.tsx';
import { Choice, Field, Form } from '../../parts/form.tsx';
import { type Column, List, Nil, SearchedUntil } from '../../parts/list.tsx';
import { Card, type Mood, Notice, Page, Problem, Tag } from '../../parts/page.tsx';
import { KeyPicker } from '../../parts/picker.tsx';
import { Breakable, Credits, count, latency, ModelName, Moment } from '../../parts/words.tsx';
import { useSessionState } from '../../session/console-context.ts';
import { graphql } from '../../session/graphql.ts';
import { usePages, useQuery } from '../../session/use-query.ts';
import { CALLS, type Call, RequestDetails } from './request-details.tsx';
import { Exports } from './request-exports.tsx';

const REFUSED_ADDRESSES = graphql(
  `query($hours: Int) { addressRefusals(hours: $hours) { address code count lastMinute } }`,
);
const LIVE_EVERY_MS = 2_000;
const LOOK_EVERY_MS = 10_000;
const LONGEST_TEXT = 200;
const HOUR_MS = 3_600_000;
/** Ten years. A longer span in the URL is ignored. */
const MOST_HOURS = 87_600;
const SPANS = [
  ['', 'All time'],
  ['1', 'The last hour'],
  ['24', 'The last day'],
  ['168', 'The last 7 days'],
  ['720', 'The last 30 days'],
  ['own', 'From and until'],
] as const;
const MOODS: Record<Call['outcome'], Mood> = { SUCCEEDED: 'good', FAILED: 'bad', REFUSED: 'warn' };
/** The parameters in the URL. */
const FIELDS = [
  ...['key', 'model', 'status', 'code', 'user', 'tag', 'request', 'ms', 'credits', 'company'],
  ...['time', 'from', 'to'],
] as const;

/** The calls of the user's company. */
export function Requests() {
  const state = useSessionState();
  const companyId = state.status === 'in' ? state.person.companyId : null;
  return <RequestLog companyId={companyId} says="Every call of your keys, within two seconds of its end." />;
}

/** The calls of all companies, for operators. */
export function AllRequests() {
  return (
    <RequestLog
      companyId={null}
      says="Every call of all companies, within two seconds of its end, and what was refused before a key was known."
    />
  );
}

function RequestLog({ companyId, says }: { companyId: string | null; says: string }) {
  const { filter, setFilter, setFilters } = useFilters();
  const isLive = filter('live') === '1';
  // Compared by the text of the URL: a span that ends now would differ with each render.
  const address = FIELDS.map(filter).join('\n');
  // biome-ignore lint/correctness/useExhaustiveDependencies: the address has everything that the filter is made of
  const wanted = useMemo(() => filterOf(filter, companyId), [address, companyId]);
  const pages = usePages(CALLS, { filter: wanted }, () => (isLive ? LIVE_EVERY_MS : LOOK_EVERY_MS));
  const [opened, setOpened] = useState<Call | null>(null);
  // An opened call stays open even if newer calls move it out of the list.
  const shown = [...(pages.nodes ?? []), opened].find((call) => call?.id === filter('open')) ?? null;
  const open = (call: Call) => {
    setOpened(call);
    setFilters({ open: call.id });
  };
  // Without an entry of its own in the history: the back button does not open the call again.
  const close = () => setFilters({ open: '' }, true);
  const isOperator = companyId === null;
  const isFiltered = address.trim() !== '';
  return (
    <Page
      title="Requests"
      says={says}
      actions={
        <>
          <button type="button" aria-pressed={isLive} onClick={() => setFilter('live', isLive ? '' : '1')}>
            Live
          </button>
          <Exports filter={wanted} />
        </>
      }
    >
      <Card title="Filters">
        <Filters filter={filter} isOperator={isOperator} apply={setFilters} />
      </Card>
      <Card title={isLive ? 'Live, refreshed every two seconds' : 'Newest first'}>
        <List
          label="Requests"
          rows={pages.nodes}
          error={pages.error}
          retry={pages.reload}
          more={pages}
          keyOf={({ id }) => id}
          nothing={isFiltered ? 'No such request' : 'No requests yet'}
          empty={<EmptyLog {...{ isFiltered, isOperator, hasMore: pages.hasMore }} />}
          columns={columnsOf(isOperator, open)}
        />
        <SearchedUntil pages={pages} />
      </Card>
      {isOperator && <RefusedAddresses />}
      {shown !== null && <RequestDetails call={shown} close={close} />}
      {shown === null && pages.nodes !== null && filter('open') !== '' && (
        <LinkedRequest id={filter('open')} companyId={companyId} close={close} />
      )}
    </Page>
  );
}

function EmptyLog(props: { isFiltered: boolean; isOperator: boolean; hasMore: boolean }) {
  if (props.hasMore) return <p>Not among those that were searched so far.</p>;
  if (props.isFiltered) return <p>Choose other filters.</p>;
  if (props.isOperator) return <p>Calls of all companies appear here.</p>;
  return (
    <p>
      <Link href="/keys">Create a key</Link> and call a model with the line that comes with it, or try one in
      the <Link href="/playground">playground</Link>. The call appears here with its answer, tokens and cost.
    </p>
  );
}

interface LinkedRequestProps {
  readonly id: string;
  readonly companyId: string | null;
  close(): void;
}

/** A linked request that the list does not contain, because it is older or the filters exclude it. */
function LinkedRequest({ id, companyId, close }: LinkedRequestProps) {
  const { data, error, reload } = useQuery(CALLS, { filter: { id, ...given('companyId', companyId ?? '') } });
  const call = data?.calls.nodes[0];
  if (call !== undefined) return <RequestDetails call={call} close={close} />;
  if (data === null) return <Problem error={error} retry={reload} />;
  return <Notice mood="warn">The request of this link is no longer stored.</Notice>;
}

function columnsOf(isOperator: boolean, open: (call: Call) => void): readonly Column<Call>[] {
  return [
    { name: 'Started', show: ({ createdAt }) => <Moment at={createdAt} /> },
    {
      name: 'Request',
      show: ({ endpoint, overMcp, model }) => (
        <>
          <code className="whole">{endpoint}</code>
          {overMcp && ' over MCP'}
          {model !== null && (
            <div className="quiet small">
              <ModelName name={model} />
            </div>
          )}
        </>
      ),
    },
    {
      name: 'Answer',
      show: ({ outcome, status, code, count: times }) => (
        <>
          <Tag mood={MOODS[outcome]}>{String(status)}</Tag>
          {times > 1 && ` × ${count(times)}`}
          {code !== null && (
            <div className="quiet small whole">
              <Breakable text={code} after="_" />
            </div>
          )}
        </>
      ),
    },
    {
      name: 'Tokens',
      isNumber: true,
      show: ({ promptTokens, completionTokens }) =>
        promptTokens === null ? <Nil /> : `${count(promptTokens)} in, ${count(completionTokens ?? 0)} out`,
    },
    { name: 'Credits', isNumber: true, show: (call) => <Credits of={call.credits} /> },
    { name: 'Duration', isNumber: true, show: ({ durationMs }) => latency(durationMs) },
    {
      name: 'Key',
      show: ({ apiKey, endUser, company }) => (
        <>
          {apiKey?.name ?? 'the platform'}
          {isOperator && <div className="small">{company?.name ?? <Nil />}</div>}
          {endUser !== null && <div className="quiet small">{endUser}</div>}
        </>
      ),
    },
    {
      name: 'Actions',
      show: (call) => (
        <button
          type="button"
          className="little"
          aria-label={`Details of ${call.requestId}`}
          onClick={() => open(call)}
        >
          Details
        </button>
      ),
    },
  ];
}

interface FiltersProps {
  readonly isOperator: boolean;
  filter(name: string): string;
  apply(values: Readonly<Record<string, string>>): void;
}

function Filters({ filter, isOperator, apply }: FiltersProps) {
  const named = { maxLength: LONGEST_TEXT, spellCheck: false, autoComplete: 'off' };
  // Recreated when the URL changes, for example with the browser's back button.
  const key = FIELDS.map(filter).join('\n');
  const nothing = Object.fromEntries(FIELDS.map((name) => [name, '']));
  const place = useFocusKept(key);
  const span = spanIn(filter);
  const isListed = SPANS.some(([value]) => value === span);
  const spans = isListed ? SPANS : [...SPANS, [span, `The last ${span} hours`] as const];
  return (
    <div ref={place}>
      <Form
        key={key}
        submit="Apply"
        beside={
          <button type="button" onClick={() => apply({ ...nothing, open: '' })}>
            Clear
          </button>
        }
        send={async ({ text }) => {
          const typed = Object.fromEntries(FIELDS.map((name) => [name, text(name)]));
          apply({ ...typed, ...periodOf(typed, filter), open: '' });
        }}
      >
        <div className="columns many">
          <Choice label="Time" name="time" defaultValue={span}>
            {spans.map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </Choice>
          <Field label="From" name="from" type="datetime-local" defaultValue={filter('from')} />
          <Field label="Until" name="to" type="datetime-local" defaultValue={filter('to')} />
          {isOperator ? (
            <>
              <Field label="Company id" name="company" defaultValue={filter('company')} {...named} />
              <Field label="Key id" name="key" defaultValue={filter('key')} {...named} />
            </>
          ) : (
            <KeyPicker name="key" none="All keys" chosenId={filter('key')} />
          )}
          <Field label="Model" name="model" defaultValue={filter('model')} {...named} />
          <Field
            {...{ label: 'Status', name: 'status', type: 'number', min: 100, max: 599 }}
            defaultValue={filter('status')}
          />
          <Field label="Code" name="code" defaultValue={filter('code')} {...named} />
          <Field label="End user" name="user" defaultValue={filter('user')} {...named} />
          <Field label="Tag" name="tag" defaultValue={filter('tag')} {...named} />
          <Field
            {...{ label: 'Minimum duration (ms)', name: 'ms', type: 'number', min: 0, max: 999_999_999 }}
            defaultValue={filter('ms')}
          />
          <Field
            {...{ label: 'Minimum cost (credits)', name: 'credits', type: 'number', min: 0, step: 'any' }}
            defaultValue={filter('credits')}
          />
          <Field label="Request id" name="request" defaultValue={filter('request')} {...named} />
        </div>
      </Form>
    </div>
  );
}

/** Newly typed times take precedence over a selected span. Otherwise the span clears the times typed before. */
function periodOf(typed: Readonly<Record<string, string>>, filter: (name: string) => string) {
  if (typed.time === '' || typed.time === 'own') return {};
  const isTyped = (['from', 'to'] as const).some(
    (name) => typed[name] !== '' && typed[name] !== filter(name),
  );
  return isTyped ? { time: 'own' } : { from: '', to: '' };
}

/** When the form is recreated and the focus is lost with it, its button receives the focus. */
function useFocusKept(key: string) {
  const place = useRef<HTMLDivElement>(null);
  const shown = useRef(key);
  // A layout effect, so that it runs before the focus moves to the heading of the page.
  useLayoutEffect(() => {
    if (shown.current === key) return;
    shown.current = key;
    if (document.activeElement !== document.body) return;
    place.current?.querySelector<HTMLElement>('button[type=submit]')?.focus({ preventScroll: true });
  }, [key]);
  return place;
}

function hoursIn(filter: (name: string) => string): number | null {
  const hours = Number(filter('time'));
  return hours > 0 && hours <= MOST_HOURS ? hours : null;
}

/** The value of the field for the time that the URL filters by. */
function spanIn(filter: (name: string) => string): string {
  if (hoursIn(filter) !== null) return filter('time');
  return filter('time') === 'own' || filter('from') !== '' || filter('to') !== '' ? 'own' : '';
}

/** The filter in the URL. A status, minimum or time that cannot be parsed is ignored. */
function filterOf(filter: (name: string) => string, companyId: string | null) {
  const numberIn = (name: string) => (filter(name) === '' ? Number.NaN : Number(filter(name)));
  const [status, minDurationMs, minCredits] = [numberIn('status'), numberIn('ms'), numberIn('credits')];
  const hours = hoursIn(filter);
  const from = hours === null ? isoOf(filter('from')) : new Date(Date.now() - hours * HOUR_MS).toISOString();
  return {
    ...given('companyId', companyId ?? filter('company')),
    ...given('from', from),
    ...given('to', hours === null ? isoOf(filter('to')) : ''),
    ...given('apiKeyId', filter('key')),
    ...given('model', filter('model')),
    ...given('code', filter('code')),
    ...given('endUser', filter('user')),
    ...given('tag', filter('tag')),
    ...given('requestId', filter('request')),
    ...(Number.isInteger(status) ? { status } : {}),
    ...(Number.isInteger(minDurationMs) ? { minDurationMs } : {}),
    ...(Number.isFinite(minCredits) ? { minCredits } : {}),
  };
}

function given<Name extends string>(name: Name, value: string): Partial<Record<Name, string>> {
  return value === '' ? {} : ({ [name]: value } as Partial<Record<Name, string>>);
}

/** In the browser's time zone, like the fields. */
function isoOf(text: string): string {
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? '' : new Date(ms).toISOString();
}

function RefusedAddresses() {
  const result = useQuery(REFUSED_ADDRESSES, { hours: 24 }, LOOK_EVERY_MS);
  return (
    <Card title="Refused addresses of the last day">
      <p className="quiet">
        Requests without a valid key, or beyond the limit of their address. Stored for a week.
      </p>
      <List
        label="Refused addresses"
        rows={result.data?.addressRefusals ?? null}
        error={result.error}
        retry={result.reload}
        keyOf={({ address, code }) => `${address} ${code}`}
        nothing="None"
        empty={<p>Every request of the last day had a valid key.</p>}
        columns={[
          { name: 'Address', show: ({ address }) => <code>{address === '' ? 'others' : address}</code> },
          { name: 'Code', show: ({ code }) => <code>{code}</code> },
          { name: 'Requests', isNumber: true, show: (row) => count(row.count) },
          { name: 'Last', show: ({ lastMinute }) => <Moment at={lastMinute} /> },
        ]}
      />
    </Card>
  );
}
