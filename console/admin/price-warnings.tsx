import { Notice } from '../parts/page.tsx';

interface Warned {
  readonly alias: string;
  readonly priceWarnings: readonly string[] | null;
}

/** A notice for each price that is below the cost of a target, with what to do about it. */
export function PriceWarnings({ aliases = [] }: { aliases: readonly Warned[] | undefined }) {
  const warnings = aliases.flatMap(({ priceWarnings }) => priceWarnings ?? []);
  return warnings.map((warning) => (
    <Notice key={warning} mood="warn">
      {warning}
    </Notice>
  ));
}
