import { useState } from 'react';
import { Act, Confirmed, Dialog } from '../../parts/dialog.tsx';
import { Field, Form } from '../../parts/form.tsx';
import type { FormValues } from '../../parts/form-values.ts';
import { PeopleChecks } from '../../parts/picker.tsx';
import { fieldError } from '../../session/answer-error.ts';
import { useConsole } from '../../session/console-context.ts';
import { type DataOf, graphql, type Variables } from '../../session/graphql.ts';

const SET = graphql(`mutation($input: AlertSettingsInput!) {
  setAlertSettings(input: $input) { version isOn mail balanceThresholds limitPercents receivers { email } } }`);

type AlertSettings = DataOf<typeof SET>['setAlertSettings'];
type AlertSettingsInput = Variables<typeof SET>['input'];

interface AlertSettingsProps {
  readonly settings: AlertSettings;
  readonly isPrepaid: boolean;
  changed(): Promise<void>;
  reload(): Promise<void>;
}

/** Changes which alerts are sent and to whom, and switches all of them off and on. */
export function ChangeAlerts(props: AlertSettingsProps) {
  const { session } = useConsole();
  // The settings when the form was opened: a save from another tab since then is a conflict.
  const [opened, setOpened] = useState<AlertSettings | null>(null);
  const { settings, changed, reload } = props;
  const set = async (input: AlertSettingsInput) => {
    try {
      await session.request(SET, { input });
    } catch (error) {
      // Another user may have saved first: the page then shows their settings.
      await reload();
      throw error;
    }
    await changed();
  };
  return (
    <>
      <button type="button" className="main" onClick={() => setOpened(settings)}>
        Change alerts
      </button>
      {settings.isOn ? (
        <Confirmed
          name="Turn off"
          title="Turn off all alerts?"
          says="No alerts are sent, not even when the credits are used up and calls are refused. Alerts that are missed meanwhile are not sent later."
          isBig
          work={() => set({ ...inputOf(settings), isOn: false })}
        />
      ) : (
        <Act name="Turn on" isBig work={() => set({ ...inputOf(settings), isOn: true })} />
      )}
      {opened !== null && (
        <SettingsForm
          {...props}
          settings={opened}
          close={() => setOpened(null)}
          set={async (input) => {
            await set(input);
            setOpened(null);
          }}
        />
      )}
    </>
  );
}

interface SettingsFormProps extends AlertSettingsProps {
  close(): void;
  set(input: AlertSettingsInput): Promise<void>;
}

function SettingsForm({ settings, isPrepaid, close, set }: SettingsFormProps) {
  const chosen = settings.receivers?.map(({ email }) => email) ?? [];
  const cancel = (
    <button type="button" onClick={close}>
      Cancel
    </button>
  );
  return (
    <Dialog title="Change alerts" close={close}>
      <p className="quiet">
        Applies to future charges. For a balance above the current one, the alert is sent after the next
        top-up.
      </p>
      <Form submit="Set the alerts" beside={cancel} send={async (values) => set(read(values, settings))}>
        {isPrepaid && (
          <Field
            label="Balances, in credits"
            hint="Up to five, with spaces between. Empty: 20%, 5% and nothing of the last top-up."
            name="balances"
            data-field="balanceThresholds"
            maxLength={120}
            placeholder="500 100 0"
            autoComplete="off"
            defaultValue={settings.balanceThresholds?.join(' ') ?? ''}
          />
        )}
        <Field
          label="Shares of limits, in percent"
          hint="Of the credit limit and of the monthly limits of keys. Up to five; empty: 80 and 100."
          name="percents"
          data-field="limitPercents"
          maxLength={60}
          autoComplete="off"
          defaultValue={settings.limitPercents.join(' ')}
        />
        <PeopleChecks
          legend="Send only to these people (none chosen: to every admin)"
          name="receivers"
          chosen={chosen}
        />
        <label className="check">
          <input type="checkbox" name="mail" value="on" defaultChecked={settings.mail} />
          <span>Send them by e-mail (otherwise, alerts go to the channels only)</span>
        </label>
      </Form>
    </Dialog>
  );
}

function inputOf({ version, isOn, mail, balanceThresholds, limitPercents, receivers }: AlertSettings) {
  const emails = receivers?.map(({ email }) => email) ?? null;
  return { version, isOn, mail, balanceThresholds, limitPercents, receivers: emails };
}

/** A field that is not shown keeps its value; an empty one returns to its default. */
function read({ text, all }: FormValues, settings: AlertSettings) {
  const present = inputOf(settings);
  const balances = numbersIn(text('balances'), {
    field: 'balanceThresholds',
    how: 'Write balances as 500 or 2.5, with spaces between them.',
  });
  const percents = numbersIn(text('percents'), {
    field: 'limitPercents',
    how: 'Write shares as 80 or 100, with spaces between them.',
  });
  const receivers = all('receivers');
  return {
    ...{ version: present.version, isOn: present.isOn, mail: all('mail').length > 0 },
    balanceThresholds: all('balances').length === 0 ? present.balanceThresholds : orNull(balances),
    limitPercents: orNull(percents),
    receivers: orNull(receivers),
  };
}

const orNull = <Item,>(list: readonly Item[]) => (list.length === 0 ? null : list);

/** Removes a trailing comma, semicolon or percent sign. A comma within a number would be ambiguous. */
function wordsIn(line: string): readonly string[] {
  return line
    .split(/\s+/)
    .map((word) => word.replace(/[,;%]+$/, ''))
    .filter((word) => word !== '');
}

function numbersIn(line: string, { field, how }: { field: string; how: string }): readonly number[] {
  return wordsIn(line).map((word) => {
    if (/^\d+(\.\d+)?$/.test(word)) return Number(word);
    throw fieldError(field, `“${word}” cannot be read. ${how}`);
  });
}
