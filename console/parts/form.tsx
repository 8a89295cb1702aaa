import { type ComponentProps, type FormEvent, type ReactNode, useEffect, useRef } from 'react';
import { useAction } from '../session/use-query.ts';
import { type FormValues, formValues } from './form-values.ts';
import { Problem } from './page.tsx';

interface FieldProps extends ComponentProps<'input'> {
  readonly label: string;
  readonly hint?: string;
}

export function Field({ label, hint, ...input }: FieldProps) {
  return (
    <label className="field">
      <span>{label}</span>
      <input {...input} />
      {hint !== undefined && <small className="quiet">{hint}</small>}
    </label>
  );
}

/** A code of an authenticator app. `isFirst` where it appears after the rest of the form was sent. */
export function CodeField({ orRecoveryCode = false, isFirst = false }) {
  const hint = orRecoveryCode ? 'From your authenticator app, or a recovery code.' : undefined;
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isFirst) field.current?.focus();
  }, [isFirst]);
  return (
    <label className="field">
      <span>Two-factor code</span>
      <input ref={field} name="totp" autoComplete="one-time-code" maxLength={40} required />
      {hint !== undefined && <small className="quiet">{hint}</small>}
    </label>
  );
}

export function Choice({ label, children, ...select }: ComponentProps<'select'> & { label: string }) {
  return (
    <label className="field">
      <span>{label}</span>
      <select {...select}>{children}</select>
    </label>
  );
}

export function Area({ label, ...area }: ComponentProps<'textarea'> & { label: string }) {
  return (
    <label className="field">
      <span>{label}</span>
      <textarea {...area} />
    </label>
  );
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

interface FormProps {
  readonly submit: string;
  readonly children: ReactNode;
  readonly beside?: ReactNode;
  /** Empty again once it is sent: for forms that add one thing after the other. */
  readonly clears?: boolean;
  /** False while what it offers to choose from is loading. */
  readonly isReady?: boolean;
  send(values: FormValues): Promise<unknown>;
}

export function Form({ submit, children, beside, clears = false, isReady = true, send }: FormProps) {
  const action = useAction();
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const sending = action.run(() => send(formValues(data)));
    void sending.then((isSent) => isSent && clears && form.reset());
  };
  return (
    <form onSubmit={onSubmit}>
      {children}
      <Problem error={action.error} />
      <div className="row">
        <button type="submit" className="main" disabled={action.isBusy || !isReady}>
          {action.isBusy ? 'Working…' : submit}
        </button>
        {beside}
      </div>
    </form>
  );
}
