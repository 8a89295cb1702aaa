import { Notice } from '../parts/page.tsx';

interface Warned {
  readonly alias: string;
  readonly priceWarnings: readonly string[] | null;
}

/** Where a price is below what a target costs: a line each, with what to do. */
export function PriceWarnings({ aliases = [] }: { aliases: readonly Warned[] | undefined }) {
  const warnings = aliases.flatMap(({ priceWarnings }) => priceWarnings ?? []);
  return warnings.map((warning) => (
    <Notice key={warning} mood="warn">
      {warning}
    </Notice>
  ));
}
