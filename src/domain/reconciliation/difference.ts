/** A difference and its remedy: a command, or an action at the provider. */
export interface Difference {
  /** For example `CHARGE_NOT_BOOKED`; docs/audit.md lists all kinds. */
  readonly kind: string;
  /** Our ids or the provider's; never a key, a prompt or an address. */
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
  readonly remedy: string;
}

/** In one line, as `turnpike audit` prints it. */
export function lineOf({ subject, expected, found, remedy }: Difference): string {
  return `${subject}: expected ${expected}, found ${found}. To mend it: ${remedy}`;
}
