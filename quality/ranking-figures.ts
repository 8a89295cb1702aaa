/** Average precision of one ranking, given as the grades of its rows; from `relevant` on a row counts as found. */
export function averagePrecision(grades: readonly number[], relevant: number): number {
  const total = grades.filter((grade) => grade >= relevant).length;
  if (total === 0) return 0;
  let [found, sum] = [0, 0];
  grades.forEach((grade, at) => {
    if (grade < relevant) return;
    found += 1;
    sum += found / (at + 1);
  });
  return sum / total;
}

/** nDCG: gains of 2^grade - 1, discounted by the logarithm of the place, beside the best order there could be. */
export function normalisedGain(grades: readonly number[], places: number): number {
  const best = gain(
    grades.toSorted((one, other) => other - one),
    places,
  );
  return best === 0 ? 0 : gain(grades, places) / best;
}

function gain(grades: readonly number[], places: number): number {
  return grades.slice(0, places).reduce((sum, grade, at) => sum + (2 ** grade - 1) / Math.log2(at + 2), 0);
}
