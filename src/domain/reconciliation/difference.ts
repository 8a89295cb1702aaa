/** Something that is not as it should be, with what mends it: a command, or what is to be done at the provider. */
export interface Difference {
  /** As `CHARGE_NOT_BOOKED`; docs/audit.md lists them. */
  readonly kind: string;
  /** Ids of ours or of the provider's: never a key, a prompt or an address. */
  readonly subject: string;
  readonly expected: string;
  readonly found: string;
  readonly remedy: string;
}

/** In one line, as `turnpike audit` prints it. */
export function lineOf({ subject, expected, found, remedy }: Difference): string {
  return `${subject}: expected ${expected}, found ${found}. To mend it: ${remedy}`;
}
