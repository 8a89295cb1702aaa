const MICRO = 1_000_000n;

/** Credits as a person writes them, `-12.5`, in micro-credits. Null for what is none, or has more than 6 decimals. */
export function microOfCredits(text: string): bigint | null {
  const match = /^([+-]?)(\d{1,13})(?:\.(\d{1,6}))?$/.exec(text);
  if (match === null) return null;
  const micro = BigInt(match[2] ?? '0') * MICRO + BigInt((match[3] ?? '').padEnd(6, '0'));
  return match[1] === '-' ? -micro : micro;
}

/** Exactly, without zeros at its end: `-12.5`. */
export function creditsOfMicro(micro: bigint): string {
  const size = micro < 0n ? -micro : micro;
  const decimals = (size % MICRO).toString().padStart(6, '0').replace(/0+$/, '');
  return `${micro < 0n ? '-' : ''}${size / MICRO}${decimals === '' ? '' : `.${decimals}`}`;
}
