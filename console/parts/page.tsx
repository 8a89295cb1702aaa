import { type ReactNode, useEffect, useRef } from 'react';
import { Link } from 'wouter';
import { AnswerError } from '../session/answer-error.ts';

interface PageProps {
  readonly title: string;
  readonly says?: ReactNode;
  readonly actions?: ReactNode;
  /** The list that it is one of. */
  readonly back?: { readonly href: string; readonly name: string };
  readonly children: ReactNode;
}

export function Page({ title, says, actions, back, children }: PageProps) {
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Turnpike`;
    head.current?.focus({ preventScroll: true });
  }, [title]);
  return (
    <>
      <div className="page-head">
        <div>
          {back !== undefined && (
            <Link className="back" href={back.href}>
              ← {back.name}
            </Link>
          )}
          <h1 ref={head} tabIndex={-1}>
            {title}
          </h1>
          {says !== undefined && <p>{says}</p>}
        </div>
        {actions !== undefined && <div className="row">{actions}</div>}
      </div>
      {children}
    </>
  );
}

export function Card({
  title,
  actions,
  children,
}: {
  title?: string;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className="card" aria-label={title}>
      {title !== undefined && (
        <div className="row spread">
          <h2>{title}</h2>
          {actions}
        </div>
      )}
      {children}
    </section>
  );
}

export function Figure({ name, value, says }: { name: string; value: ReactNode; says?: ReactNode }) {
  return (
    <section className="card figure" aria-label={name}>
      <span className="quiet small">{name}</span>
      <strong>{value}</strong>
      {says !== undefined && <span className="quiet small">{says}</span>}
    </section>
  );
}

export type Mood = 'good' | 'bad' | 'warn' | 'plain';

export function Notice({ mood = 'plain', children }: { mood?: Mood; children: ReactNode }) {
  return (
    <div className={`notice ${mood}`} role={mood === 'bad' ? 'alert' : 'status'}>
      {children}
    </div>
  );
}

export function Problem({ error, retry }: { error: Error | null; retry?: () => unknown }) {
  if (error === null) return null;
  const requestId = error instanceof AnswerError ? error.requestId : null;
  return (
    <Notice mood="bad">
      <p>{error.message}</p>
      {requestId !== null && <p className="small">Request id {requestId}</p>}
      {retry !== undefined && (
        <button type="button" className="little" onClick={() => void retry()}>
          Try again
        </button>
      )}
    </Notice>
  );
}

export function Empty({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

export function Bones({ lines = 4 }: { lines?: number }) {
  const widths = Array.from({ length: lines }, (_, line) => `${95 - ((line * 17) % 40)}%`);
  return (
    <div className="stack" role="status" aria-label="Loading">
      {widths.map((width) => (
        <div className="bone" key={width} style={{ width }} />
      ))}
    </div>
  );
}

export function Tag({ mood = 'plain', children }: { mood?: Mood; children: ReactNode }) {
  return <span className={`tag ${mood}`}>{children}</span>;
}
