import { useRef } from 'react';
import { Dialog } from '../../parts/dialog.tsx';
import { Choice, Field, Form } from '../../parts/form.tsx';
import { changedFrom, type FormValues } from '../../parts/form-values.ts';
import { count, exact } from '../../parts/words.tsx';
import { useConsole } from '../../session/console-context.ts';
import { type DataOf, graphql } from '../../session/graphql.ts';
import { StoredContentFields, storedContentIn } from './stored-content.tsx';

const UPDATE = graphql(`mutation($id: ID!, $input: UpdateApiKeyInput!, $ifVersion: Int) {
  updateApiKey(id: $id, input: $input, ifVersion: $ifVersion) { id } }`);
const ROTATE = graphql(`mutation($id: ID!, $expiresAt: DateTime) {
  rotateApiKey(id: $id, expiresAt: $expiresAt) { rawKey apiKey { name } }
}`);

export const HIGHEST_RATE = 2_000_000_000;
/** Tokens a minute of new keys. */
export const DEFAULT_TOKENS = 2_000_000;
/** That of keys which were created before it was raised, and have kept it. */
const FORMER_DEFAULT_TOKENS = 200_000;

interface ChangeProps {
  readonly apiKey: {
    readonly id: string;
    readonly name: string;
    readonly createdAt: string;
    readonly expiresAt: string | null;
    readonly requestsPerMinute: number;
    readonly tokensPerMinute: number;
    readonly maxCallsInFlight: number | null;
    readonly monthlySpendingLimit: number | null;
    readonly streamUsageChunk: StreamUsageChunk | null;
    readonly project: string | null;
    readonly cacheTtlSeconds: number | null;
    readonly logPayloads: boolean;
    readonly version: number;
  };
  close(): void;
}

/** Name, limits and expiry of a live key. */
export function EditKey({ apiKey, close, changed }: ChangeProps & { changed(): Promise<void> }) {
  const { session } = useConsole();
  const tokensField = useRef<HTMLInputElement>(null);
  const { requestsPerMinute, tokensPerMinute, maxCallsInFlight, monthlySpendingLimit } = apiKey;
  return (
    <Dialog title={`Edit “${apiKey.name}”`} close={close}>
      <p className="quiet">Takes effect within a second.</p>
      <Form
        submit="Save"
        beside={<Cancel close={close} />}
        send={async (values) => {
          const input = changedFrom(settingsOf(apiKey), settingsIn(values, apiKey));
          const { id, version } = apiKey;
          if (Object.keys(input).length > 0) {
            await session.request(UPDATE, { id, input, ifVersion: version });
            await changed();
          }
          close();
        }}
      >
        <Field label="Name" name="name" maxLength={200} required defaultValue={apiKey.name} />
        <ProjectField value={apiKey.project} />
        <div className="columns">
          <Field
            label="Requests a minute"
            {...{ name: 'requests', type: 'number', min: 1, max: HIGHEST_RATE, required: true }}
            data-field="requestsPerMinute"
            defaultValue={requestsPerMinute}
          />
          <Field
            label="Tokens a minute"
            {...{ name: 'tokens', type: 'number', min: 1, max: HIGHEST_RATE, required: true }}
            data-field="tokensPerMinute"
            defaultValue={tokensPerMinute}
            ref={tokensField}
          />
          <Field
            label="Calls at once"
            {...{ hint: 'Empty: no limit.', name: 'inFlight', type: 'number', min: 1 }}
            data-field="maxCallsInFlight"
            defaultValue={maxCallsInFlight ?? ''}
          />
          <Field
            label="Credits a month"
            {...{ hint: 'Empty: no limit.', name: 'monthly', type: 'number', min: 0, step: 'any' }}
            data-field="monthlySpendingLimit"
            defaultValue={monthlySpendingLimit ?? ''}
          />
        </div>
        {tokensPerMinute === FORMER_DEFAULT_TOKENS && (
          <p className="small quiet">
            {`New keys have ${count(DEFAULT_TOKENS)} tokens a minute: agents need more than ${count(tokensPerMinute)}. `}
            <button
              type="button"
              onClick={() => {
                if (tokensField.current === null) return;
                tokensField.current.value = String(DEFAULT_TOKENS);
                tokensField.current.focus();
              }}
            >
              Set {count(DEFAULT_TOKENS)}
            </button>
          </p>
        )}
        <ExpiryField value={localTime(apiKey.expiresAt)} />
        <UsageChunkField value={apiKey.streamUsageChunk} />
        <StoredContentFields value={apiKey} />
      </Form>
    </Dialog>
  );
}

type KeyToEdit = ChangeProps['apiKey'];

/** The fields of a key that the form shows. */
function settingsOf(apiKey: KeyToEdit) {
  const { name, requestsPerMinute, tokensPerMinute, maxCallsInFlight, monthlySpendingLimit } = apiKey;
  const { streamUsageChunk, project, cacheTtlSeconds, logPayloads, expiresAt } = apiKey;
  return {
    ...{ name, requestsPerMinute, tokensPerMinute, maxCallsInFlight, monthlySpendingLimit },
    ...{ streamUsageChunk, project, cacheTtlSeconds, logPayloads, expiresAt },
  };
}

function settingsIn(values: FormValues, { expiresAt, ...old }: KeyToEdit): ReturnType<typeof settingsOf> {
  const { number, text } = values;
  return {
    name: text('name'),
    requestsPerMinute: number('requests') ?? old.requestsPerMinute,
    tokensPerMinute: number('tokens') ?? old.tokensPerMinute,
    maxCallsInFlight: number('inFlight'),
    monthlySpendingLimit: number('monthly'),
    streamUsageChunk: usageChunkIn(text('usageChunk')),
    project: text('project') === '' ? null : text('project'),
    ...storedContentIn(values),
    // The field has no seconds; an unchanged expiry keeps its exact value.
    expiresAt: text('expires') === localTime(expiresAt) ? expiresAt : expiryIn(text('expires')),
  };
}

type RotatedKey = DataOf<typeof ROTATE>['rotateApiKey'];

/** A key that expires is usually rotated for that reason, so the dialog asks when the new one expires. */
export function RotateKey({
  apiKey,
  close,
  rotated,
}: ChangeProps & { rotated(key: RotatedKey): Promise<void> }) {
  const { session } = useConsole();
  const { expiresAt } = apiKey;
  return (
    <Dialog title={`Rotate “${apiKey.name}”?`} close={close}>
      <p>You get a new key with the same settings. The old one works until you revoke it or it expires.</p>
      {expiresAt !== null && <p className="quiet">The old key expires on {exact(expiresAt)}.</p>}
      <Form
        submit="Rotate"
        beside={<Cancel close={close} />}
        send={async ({ text }) => {
          const chosen = expiresAt === null ? {} : { expiresAt: expiryIn(text('expires')) };
          const { rotateApiKey } = await session.request(ROTATE, { id: apiKey.id, ...chosen });
          await rotated(rotateApiKey);
        }}
      >
        {expiresAt !== null && (
          <ExpiryField label="The new key expires" value={sameSpan(apiKey.createdAt, expiresAt)} />
        )}
      </Form>
    </Dialog>
  );
}

export function ProjectField({ value = null }: { value?: string | null }) {
  const hint = 'Usage and budgets can be by project. Empty: none.';
  return <Field label="Project" name="project" hint={hint} maxLength={64} defaultValue={value ?? ''} />;
}

type StreamUsageChunk = 'ALWAYS' | 'ASKED';

export function UsageChunkField({ value = null }: { value?: StreamUsageChunk | null }) {
  return (
    <Choice label="Usage chunk of streams" name="usageChunk" defaultValue={value ?? ''}>
      <option value="">As the gateway is set</option>
      <option value="ALWAYS">Always sent</option>
      <option value="ASKED">Only with include_usage</option>
    </Choice>
  );
}

/** Null for the gateway's own setting. */
export function usageChunkIn(text: string): StreamUsageChunk | null {
  return text === 'ALWAYS' || text === 'ASKED' ? text : null;
}

export function ExpiryField({ label = 'Expires', value = '' }) {
  return (
    <Field
      label={label}
      name="expires"
      data-field="expiresAt"
      type="datetime-local"
      hint="Empty: never."
      defaultValue={value}
    />
  );
}

/** Null for an empty field. */
export function expiryIn(text: string): string | null {
  return text === '' ? null : new Date(text).toISOString();
}

/** As long as the old key's whole validity, counted from now. */
function sameSpan(createdAt: string, expiresAt: string): string {
  const spanMs = Date.parse(expiresAt) - Date.parse(createdAt);
  return localTime(new Date(Date.now() + spanMs).toISOString());
}

/** Formatted for a datetime-local field: in the browser's time zone, to the minute. */
function localTime(moment: string | null): string {
  if (moment === null) return '';
  const at = new Date(moment);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function Cancel({ close }: { close(): void }) {
  return (
    <button type="button" onClick={close}>
      Cancel
    </button>
  );
}
