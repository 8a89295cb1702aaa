/** A key's setting as the field that a client filled in. */
export function keyInputField(setting: string): string {
  return `input.${setting === 'monthlySpendingLimitMicro' ? 'monthlySpendingLimit' : setting}`;
}
