import { useRef } from 'react';
import { Act } from './dialog.tsx';
import { Notice } from './page.tsx';

/** From this amount on, a digit too many is more likely than the amount itself. */
const LARGE_CREDITS = 10_000;

export function isLarge(credits: number): boolean {
  return Math.abs(credits) >= LARGE_CREDITS;
}

/** The question before a large amount is posted. */
export function LargeAmount({
  says,
  confirm,
  cancel,
}: {
  says: string;
  confirm(): Promise<unknown>;
  cancel(): void;
}) {
  return (
    <Notice mood="warn">
      <p>{says}</p>
      <div className="row">
        <Act name="Yes, post this amount" work={confirm} />
        <button type="button" className="little" onClick={cancel}>
          No, change it
        </button>
      </div>
    </Notice>
  );
}

/**
 * The idempotency key of what a form posts. The same values sent again after a broken connection are the same posting;
 * other values, and anything sent after a success, are a new one.
 */
export function usePostingMark() {
  const known = useRef({ values: '', mark: '' });
  return {
    of(values: object): string {
      const text = JSON.stringify(values);
      if (known.current.values !== text) known.current = { values: text, mark: newMark() };
      return known.current.mark;
    },
    next() {
      known.current = { values: '', mark: '' };
    },
  };
}

/** Unlike randomUUID, this also works over plain HTTP. */
function newMark(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
