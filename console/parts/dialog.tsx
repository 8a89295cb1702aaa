import { type ReactNode, useId, useLayoutEffect, useRef, useState } from 'react';
import { isSecondOfTwo, useAction } from '../session/use-query.ts';
import { Announcements, announce, keepFocus, useKeptFocus } from './announce.tsx';
import { Bones, Problem } from './page.tsx';
import { useButtonName } from './row-name.tsx';

interface DialogProps {
  readonly title: string;
  /** For dialogs with a table. */
  readonly isWide?: boolean;
  /** Escape does not close it, because its content is shown once. */
  readonly isLasting?: boolean;
  /** Lasting, and hides the page behind it. */
  readonly isCovering?: boolean;
  /** The id of the text that is announced after the title. */
  readonly describedBy?: string;
  readonly children: ReactNode;
  close(): void;
}

export function Dialog(props: DialogProps) {
  const { title, isWide = false, isCovering = false, isLasting = isCovering, close, children } = props;
  const described = props.describedBy === undefined ? {} : { 'aria-describedby': props.describedBy };
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // A layout effect, which closes the dialog while it is still in the document: browsers restore the focus when a
  // dialog closes, not when it is removed.
  useLayoutEffect(() => {
    const shown = dialog.current;
    if (shown?.open === false) shown.showModal();
    shown?.querySelector<HTMLElement>('[data-first]')?.focus();
    return () => {
      shown?.close();
      // The element that opened it may be removed with its row in the same commit.
      queueMicrotask(keepFocus);
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      {...described}
      className={[isWide ? 'wide' : '', isCovering ? 'covering' : ''].join(' ').trim() || undefined}
      // Browsers close a dialog on a second Escape regardless of onCancel, unless the key itself is prevented.
      onKeyDown={(event) => isLasting && event.key === 'Escape' && event.preventDefault()}
      onCancel={(event) => {
        // A file field in the dialog also fires cancel.
        if (event.target !== event.currentTarget) return;
        const isTouched = event.currentTarget.querySelector('form[data-touched]') !== null;
        if (isLasting || (isTouched && !confirm('Close this without saving what you typed?')))
          event.preventDefault();
        else close();
      }}
      // Some ways of closing cannot be prevented, such as a second Escape after a prevented one.
      onClose={({ target, currentTarget }) => {
        if (target === currentTarget && currentTarget.isConnected) currentTarget.showModal();
      }}
    >
      <div className="stack">
        <h2 id={titleId} tabIndex={-1}>
          {title}
        </h2>
        {children}
      </div>
      <Announcements />
    </dialog>
  );
}

/** In place of a form whose choices are loading or could not be loaded. Devices without Escape need its button. */
export function DialogLoading(props: { error: Error | null; retry(): unknown; close(): void }) {
  const { error, retry, close } = props;
  return (
    <>
      {error === null ? <Bones /> : <Problem error={error} retry={retry} />}
      <div>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </div>
    </>
  );
}

interface ConfirmedProps {
  readonly name: string;
  readonly title: string;
  readonly says: ReactNode;
  readonly danger?: boolean;
  /** Full size, like the other actions of a page. */
  readonly isBig?: boolean;
  work(): Promise<unknown>;
}

/** A button for an action that cannot be undone: it asks first. */
export function Confirmed({ name, title, says, danger = true, isBig = false, work }: ConfirmedProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        className={`${isBig ? '' : 'little'} ${danger ? 'danger' : ''}`}
        onClick={() => setOpen(true)}
        {...useButtonName(name)}
      >
        {name}
      </button>
      {isOpen && <Question {...{ name, title, says, danger, work }} close={() => setOpen(false)} />}
    </>
  );
}

interface QuestionProps extends Pick<ConfirmedProps, 'name' | 'title' | 'says' | 'danger' | 'work'> {
  close(): void;
}

/**
 * Shown before an action that cannot be undone. Cancel has the initial focus, so that holding down Enter confirms
 * nothing.
 */
export function Question({ name, title, says, danger = true, work, close }: QuestionProps) {
  const action = useAction();
  const saysId = useId();
  const confirm = async () => {
    if (!(await action.run(work))) return;
    announce('Done.');
    close();
  };
  return (
    <Dialog title={title} describedBy={saysId} close={close}>
      <div id={saysId}>{says}</div>
      <Problem error={action.error} />
      <div className="row">
        <button
          type="button"
          className={danger ? 'danger' : 'main'}
          aria-disabled={action.isBusy}
          onClick={(event) => action.isBusy || isSecondOfTwo(event) || void confirm()}
        >
          {action.isBusy ? 'Working…' : name}
        </button>
        <button type="button" data-first={danger ? '' : undefined} onClick={close}>
          Cancel
        </button>
      </div>
    </Dialog>
  );
}

/** For actions that can be repeated or undone: no question, but the error stays readable. */
export function Act({
  name,
  main = false,
  isBig = false,
  work,
}: {
  name: string;
  main?: boolean;
  isBig?: boolean;
  work(): Promise<unknown>;
}) {
  const action = useAction();
  const button = useRef<HTMLButtonElement>(null);
  useKeptFocus(button);
  const words = action.isBusy ? 'Working…' : name;
  const act = async () => {
    if (await action.run(work)) announce('Done.');
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        className={main ? 'main' : isBig ? '' : 'little'}
        aria-disabled={action.isBusy}
        onClick={(event) => action.isBusy || isSecondOfTwo(event) || void act()}
        {...useButtonName(words)}
      >
        {words}
      </button>
      <Problem error={action.error} />
    </>
  );
}

/** `label` is for pages with several buttons that copy different things. */
export function Copy({ text, name = 'Copy', label }: { text: string; name?: string; label?: string }) {
  const action = useAction();
  const [copied, setCopied] = useState<string | null>(null);
  const isCopied = copied === text;
  const clipboard: Clipboard | undefined = navigator.clipboard;
  // Not available over plain HTTP from another machine; the text can still be selected.
  if (clipboard === undefined) return null;
  const copy = async () => {
    try {
      await clipboard.writeText(text);
    } catch {
      throw new Error('The browser did not allow copying. Select the text and copy it by hand.');
    }
    setCopied(text);
  };
  return (
    <>
      <button
        type="button"
        className="little"
        aria-label={isCopied ? undefined : label}
        onClick={() => void action.run(copy)}
      >
        <span aria-live="polite">{isCopied ? 'Copied' : name}</span>
      </button>
      <Problem error={action.error} />
    </>
  );
}
