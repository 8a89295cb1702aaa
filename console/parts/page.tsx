import { type CSSProperties, type ReactNode, useEffect, useRef, useState } from 'react';
import { Link } from 'wouter';
import { AnswerError } from '../session/answer-error.ts';
import { announceNothing } from './announce.tsx';
import { spoken } from './words.tsx';

interface PageProps {
  readonly title: string;
  readonly says?: ReactNode;
  readonly actions?: ReactNode;
  /** The list that the page belongs to. */
  readonly back?: { readonly href: string; readonly name: string };
  readonly children: ReactNode;
}

export function Page({ title, says, actions, back, children }: PageProps) {
  const head = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Turnpike`;
  }, [title]);
  // Once: a title that changes, as a job's does, leaves the focus in the field that is being filled in.
  useEffect(() => head.current?.focus({ preventScroll: true }), []);
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

/** Cards below each other that load by themselves: each is shown once those above have their height. */
export function InOrder({ children }: { children: ReactNode }) {
  return <div className="in-order">{children}</div>;
}

/**
 * In the head of a page whose form is below a list of any length: moves the focus to the first field of that card. A card that
 * is rendered after its list is waited for, unless another field is focused in the meantime.
 */
export function ToForm({ of, name = of }: { of: string; name?: string }) {
  const [isAwaited, setIsAwaited] = useState(false);
  useEffect(() => {
    const main = document.querySelector('main');
    if (!isAwaited || main === null) return;
    const show = () => {
      if (isInField() || focusForm(of)) setIsAwaited(false);
    };
    const observer = new MutationObserver(show);
    observer.observe(main, { childList: true, subtree: true });
    show();
    return () => observer.disconnect();
  }, [isAwaited, of]);
  return (
    <button type="button" onClick={() => setIsAwaited(!focusForm(of))}>
      {name}
    </button>
  );
}

const FIELDS = 'input, textarea, select';
const isInField = () => document.activeElement?.matches(FIELDS) === true;

/** False while there is no such card, or a list above it is loading. */
function focusForm(of: string): boolean {
  const card = document.querySelector(`main section[aria-label="${of}"]`);
  if (card?.checkVisibility({ visibilityProperty: true }) !== true) return false;
  card.scrollIntoView({ block: 'start' });
  card.querySelector<HTMLElement>(FIELDS)?.focus({ preventScroll: true });
  return true;
}

interface FigureProps {
  readonly name: string;
  readonly value: ReactNode;
  /** The unrounded value, shown on hover. */
  readonly exact?: string | undefined;
  readonly says?: ReactNode;
}

export function Figure({ name, value, exact, says }: FigureProps) {
  return (
    <section className="card figure" aria-label={name}>
      <span className="quiet small">{name}</span>
      <strong title={exact} style={lengthOf(value)}>
        {value}
      </strong>
      {says !== undefined && <span className="quiet small">{says}</span>}
    </section>
  );
}

/** For the size of the text: 98,765,432.12 would be broken within the number. */
const lengthOf = (value: ReactNode) =>
  typeof value === 'string' ? ({ '--length': value.length } as CSSProperties) : undefined;

export type Mood = 'good' | 'bad' | 'warn' | 'plain';

/**
 * Errors are announced as they appear. For other notices the live region is rendered first and its text becomes visible
 * afterwards, because screen readers announce what is added to a region. The text has its place from the beginning:
 * what is below does not move.
 */
export function Notice({ mood = 'plain', children }: { mood?: Mood; children: ReactNode }) {
  const isError = mood === 'bad';
  const [isPlaced, setPlaced] = useState(isError);
  useEffect(() => {
    if (isPlaced) return;
    const timer = setTimeout(() => {
      announceNothing();
      setPlaced(true);
    }, PLACED_MS);
    return () => clearTimeout(timer);
  }, [isPlaced]);
  return (
    <div className={`notice ${mood}`} role={isError ? 'alert' : 'status'}>
      <div data-placed={isPlaced}>{children}</div>
    </div>
  );
}

const PLACED_MS = 50;

/** Where the user can resolve an error, by its code. */
const REMEDIES = new Map([
  ['INSUFFICIENT_CREDITS', { href: '/billing', name: 'Buy credits' }],
  ['PLAN_LIMIT_EXCEEDED', { href: '/billing', name: 'See the invoices' }],
  ['KEY_SPENDING_LIMIT', { href: '/keys', name: 'Raise the limit of the key' }],
]);

interface ProblemProps {
  readonly error: Error | null;
  /** The label of the field that the error is about, if the page has it. */
  readonly about?: string | undefined;
  readonly retry?: () => unknown;
}

export function Problem({ error, about, retry }: ProblemProps) {
  if (error === null) return null;
  const field = error instanceof AnswerError ? error.field : null;
  const subject = about ?? (field === null ? null : spoken(field.slice(field.lastIndexOf('.') + 1)));
  const requestId = error instanceof AnswerError ? error.requestId : null;
  const remedy = error instanceof AnswerError ? REMEDIES.get(error.code) : undefined;
  return (
    <Notice mood="bad">
      <p>
        {subject === null || subject === '' ? error.message : `${subject}: ${error.message}`}{' '}
        {remedy !== undefined && (
          <Link className="button" href={remedy.href}>
            {remedy.name}
          </Link>
        )}
      </p>
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
