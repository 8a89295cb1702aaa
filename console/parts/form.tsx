import type { ComponentProps, FormEvent, ReactNode } from 'react';
import { useDoing } from '../session/use-query.ts';
import { Problem } from './page.tsx';
import type { Typed } from './typed.ts';

export type { Typed } from './typed.ts';

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
  send(typed: Typed): Promise<unknown>;
}

export function Form({ submit, children, beside, clears = false, send }: FormProps) {
  const doing = useDoing();
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const sending = doing.run(() => send(typedIn(data)));
    void sending.then((isSent) => isSent && clears && form.reset());
  };
  return (
    <form onSubmit={onSubmit}>
      {children}
      <Problem error={doing.error} />
      <div className="row">
        <button type="submit" className="main" disabled={doing.isBusy}>
          {doing.isBusy ? 'Working…' : submit}
        </button>
        {beside}
      </div>
    </form>
  );
}

function typedIn(data: FormData): Typed {
  const text = (name: string) => String(data.get(name) ?? '').trim();
  return {
    text,
    number: (name) => (text(name) === '' ? null : Number(text(name))),
    all: (name) => data.getAll(name).map(String),
  };
}
