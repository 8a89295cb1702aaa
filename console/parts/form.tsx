import {
  type ComponentProps,
  type FormEvent,
  type ReactNode,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { AnswerError } from '../session/answer-error.ts';
import { isSecondOfTwo, useAction } from '../session/use-query.ts';
import { announce, useKeptFocus } from './announce.tsx';
import { Question } from './dialog.tsx';
import { type FormValues, formValues } from './form-values.ts';
import { Problem } from './page.tsx';

interface FieldProps extends ComponentProps<'input'> {
  readonly label: string;
  readonly hint?: string | undefined;
}

/** A label, its control, and a hint that is announced after it. */
function Labelled(props: {
  label: string;
  hint?: string | undefined;
  children: (named: { readonly id: string; readonly 'aria-describedby'?: string }) => ReactNode;
}) {
  const { label, hint, children } = props;
  const id = useId();
  const described = hint === undefined ? {} : { 'aria-describedby': `${id}-hint` };
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, ...described })}
      {hint !== undefined && (
        <small className="quiet" id={`${id}-hint`}>
          {hint}
        </small>
      )}
    </div>
  );
}

/** Without a limit, browsers take six digits of a year: 2026 does not move on to the next part of the date. */
const LAST_TIMES = new Map([
  ['date', '9999-12-31'],
  ['datetime-local', '9999-12-31T23:59'],
]);

export function Field({ label, hint, ...input }: FieldProps) {
  return (
    <Labelled label={label} hint={hint}>
      {(named) => <input dir="auto" max={LAST_TIMES.get(input.type ?? '')} {...named} {...input} />}
    </Labelled>
  );
}

/** A code from an authenticator app. `isFirst` if it appears after the rest of the form was sent. */
export function CodeField({ orRecoveryCode = false, isFirst = false }) {
  const hint = orRecoveryCode ? 'From your authenticator app, or a recovery code.' : undefined;
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isFirst) field.current?.focus();
  }, [isFirst]);
  return (
    <Field
      {...{ label: 'Two-factor code', hint, ref: field, name: 'totp', autoComplete: 'one-time-code' }}
      maxLength={40}
      required
    />
  );
}

export function Choice({ label, children, ...select }: ComponentProps<'select'> & { label: string }) {
  return (
    <Labelled label={label}>
      {(named) => (
        <select {...named} {...select}>
          {children}
        </select>
      )}
    </Labelled>
  );
}

export function Area({ label, ...area }: ComponentProps<'textarea'> & { label: string }) {
  return <Labelled label={label}>{(named) => <textarea dir="auto" {...named} {...area} />}</Labelled>;
}

export function Checks(props: {
  legend: string;
  name: string;
  values: readonly string[];
  chosen: readonly string[];
}) {
  const { legend, name, values, chosen } = props;
  return (
    <fieldset>
      <legend>{legend}</legend>
      {values.map((value) => (
        <label className="check" key={value}>
          <input type="checkbox" name={name} value={value} defaultChecked={chosen.includes(value)} />
          <span className="mono">{value}</span>
        </label>
      ))}
    </fieldset>
  );
}

/**
 * For a group of fields that is added to a form and removed from it by buttons: a new group receives the focus, and the
 * focus of a removed one moves to the heading.
 */
export function useGroupFocus(isNew: boolean) {
  const group = useRef<HTMLFieldSetElement>(null);
  useKeptFocus(group);
  useEffect(() => {
    if (isNew) group.current?.querySelector<HTMLElement>('input, select')?.focus();
  }, [isNew]);
  return group;
}

/** One group of fields: a stored one or a new one. */
export interface FormGroup<Stored> {
  readonly number: number;
  readonly stored: Stored | null;
}

/** The groups of a form, numbered in the order in which they were added. */
export function useGroups<Stored>(stored: readonly Stored[]) {
  const [groups, setGroups] = useState<readonly FormGroup<Stored>[]>(
    stored.map((one, number) => ({ number, stored: one })),
  );
  const next = useRef(stored.length);
  return {
    groups,
    add: () => {
      const number = next.current;
      next.current += 1;
      setGroups((now) => [...now, { number, stored: null }]);
    },
    remove: (number: number) => setGroups((now) => now.filter((one) => one.number !== number)),
  };
}

/** Adds a group to its form or removes one, which is unsent input like what is typed. */
export function GroupButton({ onClick, ...button }: ComponentProps<'button'> & { onClick(): void }) {
  return (
    <button
      type="button"
      {...button}
      onClick={({ currentTarget: { form } }) => {
        if (form !== null) form.dataset.touched = '';
        onClick();
      }}
    />
  );
}

/** Beside the submit button of a dialog with groups. */
export function GroupButtons({ add, addName, close }: { add(): void; addName: string; close(): void }) {
  return (
    <>
      <GroupButton onClick={add}>{addName}</GroupButton>
      <button type="button" onClick={close}>
        Cancel
      </button>
    </>
  );
}

interface FormProps {
  readonly submit: string;
  readonly children: ReactNode;
  readonly beside?: ReactNode;
  /** Resets the form after it was sent, for forms that add several things in a row. */
  readonly clears?: boolean;
  /** Asks before the user leaves the page with unsent input. */
  readonly guards?: boolean;
  /** It ends or erases something. */
  readonly isDanger?: boolean;
  /** False while its choices are loading. */
  readonly isReady?: boolean;
  /** The question to confirm before it is sent, if that cannot be undone; null if there is none. */
  asks?(values: FormValues): { readonly title: string; readonly says: ReactNode } | null;
  send(values: FormValues): Promise<unknown>;
}

export function Form(props: FormProps) {
  const { submit, children, beside, guards = false, isDanger = false, isReady = true } = props;
  const form = useRef<HTMLFormElement>(null);
  const problemId = useId();
  useKeptFocus(form);
  const { action, onSubmit, question } = useSending(props);
  const { error } = action;
  const about = useWrongField(form.current, error, problemId);
  return (
    <>
      <form
        ref={form}
        data-guards={guards ? '' : undefined}
        onInput={(event) => {
          event.currentTarget.dataset.touched = '';
        }}
        onReset={(event) => delete event.currentTarget.dataset.touched}
        onSubmit={onSubmit}
      >
        {children}
        <div id={problemId}>
          <Problem error={error} about={about} />
        </div>
        <div className="row">
          {/* Not disabled while it is busy: a button that is loses the focus. */}
          <button
            type="submit"
            className={isDanger ? 'danger' : 'main'}
            disabled={!isReady}
            aria-disabled={action.isBusy}
            onClick={(event) => isSecondOfTwo(event) && event.preventDefault()}
          >
            {action.isBusy ? 'Working…' : submit}
          </button>
          {beside}
        </div>
      </form>
      {question}
    </>
  );
}

function useSending({ submit, clears = false, isDanger = false, asks, send }: FormProps) {
  const action = useAction();
  const [asked, setAsked] = useState<QuestionOf | null>(null);
  const sendOf = async (sent: HTMLFormElement, values: FormValues) => {
    const isSent = await action.run(async () => {
      delete sent.dataset.touched;
      await send(values);
    });
    if (!isSent) {
      sent.dataset.touched = '';
      return;
    }
    // What was typed while it was sent is the next thing to send.
    if (clears && sent.dataset.touched === undefined) sent.reset();
    announce('Done.');
  };
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (action.isBusy) return;
    const [sent, values] = [event.currentTarget, formValues(new FormData(event.currentTarget))];
    const question = asks?.(values) ?? null;
    if (question === null) void sendOf(sent, values);
    else setAsked({ ...question, confirm: () => void sendOf(sent, values) });
  };
  const question = asked !== null && (
    <Question
      {...{ name: submit, title: asked.title, says: asked.says, danger: isDanger }}
      // Not awaited: errors are shown in the form.
      work={async () => asked.confirm()}
      close={() => setAsked(null)}
    />
  );
  return { action, onSubmit, question };
}

interface QuestionOf {
  readonly title: string;
  readonly says: ReactNode;
  confirm(): void;
}

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement;

/**
 * Marks the control that an error is about, and returns its label. `pathOf` maps the path of a field in the API to its
 * path in the form, if they differ.
 */
export function useWrongField(
  form: HTMLFormElement | null,
  error: Error | null,
  problemId: string,
  pathOf: (field: string) => string = (field) => field,
): string | undefined {
  const field = error instanceof AnswerError ? error.field : null;
  const wrong = field === null ? null : controlOf(form, pathOf(field));
  useEffect(() => {
    if (wrong === null) return;
    return markWrong(wrong, problemId);
  }, [wrong, problemId]);
  return wrong === null ? undefined : labelOf(wrong);
}

/** The control for a field of the API, found by `data-field`, which is the end of its path, or by name. */
function controlOf(form: HTMLFormElement | null, field: string): Control | null {
  const name = field.slice(field.lastIndexOf('.') + 1);
  const controls = [...(form?.elements ?? [])] as Control[];
  return (
    controls.find(
      ({ dataset }) => dataset.field !== undefined && `.${field}`.endsWith(`.${dataset.field}`),
    ) ??
    controls.find((one) => one.name === name) ??
    null
  );
}

function labelOf(control: Control): string {
  const isBox = control.type === 'checkbox';
  const label = isBox ? control.closest('fieldset')?.querySelector('legend') : control.labels?.[0];
  return label?.textContent ?? '';
}

/** Focuses the control and describes it by the error, until it is edited or the error changes. */
function markWrong(control: Control, problemId: string): () => void {
  const described = control.getAttribute('aria-describedby');
  control.setAttribute('aria-invalid', 'true');
  control.setAttribute('aria-describedby', [described, problemId].filter((one) => one !== null).join(' '));
  control.closest('details')?.setAttribute('open', '');
  control.focus();
  const clear = () => {
    control.removeAttribute('aria-invalid');
    if (described === null) control.removeAttribute('aria-describedby');
    else control.setAttribute('aria-describedby', described);
  };
  control.addEventListener('input', clear, { once: true });
  return () => {
    control.removeEventListener('input', clear);
    clear();
  };
}
