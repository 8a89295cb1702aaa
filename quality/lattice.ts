/** Room for the sums over all rows of labels of one line, kept from line to line. */
export interface Lattice {
  readonly labels: number;
  readonly scores: Float64Array;
  /** For each token and label: how often it should be there less how often it is. */
  readonly gains: Float64Array;
  readonly stepGains: Float64Array;
  readonly lifted: Float64Array;
  readonly ahead: Float64Array;
  readonly behind: Float64Array;
  readonly sizes: Float64Array;
  readonly steps: Float64Array;
}

export function openLattice(longest: number, labels: number): Lattice {
  const room = () => new Float64Array(longest * labels);
  return {
    labels,
    scores: room(),
    gains: room(),
    stepGains: new Float64Array((labels + 1) * labels),
    lifted: room(),
    ahead: room(),
    behind: room(),
    sizes: new Float64Array(longest),
    steps: new Float64Array((labels + 1) * labels),
  };
}

/** Fills the gains of a line from its scores; false where no row of labels is allowed. */
export function expectations(
  lattice: Lattice,
  length: number,
  allowed: Int32Array,
  steps: Float32Array,
): boolean {
  const { labels, scores, lifted } = lattice;
  for (let at = 0; at < length; at++) {
    const from = at * labels;
    let top = -Infinity;
    for (let label = 0; label < labels; label++) top = Math.max(top, scores[from + label] ?? 0);
    for (let label = 0; label < labels; label++)
      lifted[from + label] = Math.exp((scores[from + label] ?? 0) - top) + 1e-30;
  }
  for (let from = 0; from <= labels; from++)
    for (let to = 0; to < labels; to++)
      lattice.steps[from * labels + to] = isStep(from, to, labels)
        ? Math.exp(steps[from * labels + to] ?? 0)
        : 0;
  lattice.gains.fill(0, 0, length * labels);
  lattice.stepGains.fill(0);
  return addExpectations(lattice, length, null, -1) && addExpectations(lattice, length, allowed, 1);
}

/** A later token's label follows only the labels of its own kind. */
function isStep(from: number, to: number, labels: number): boolean {
  if (to === 0 || to % 2 === 1) return true;
  return from !== labels && (from === to || from === to - 1);
}

/** Forward and backward sums, scaled to one at each token. */
function addExpectations(
  lattice: Lattice,
  length: number,
  allowed: Int32Array | null,
  sign: number,
): boolean {
  const { labels, lifted, ahead, behind, sizes, steps, gains, stepGains } = lattice;
  const may = (at: number, label: number) => allowed === null || (((allowed[at] ?? 0) >> label) & 1) === 1;
  for (let at = 0; at < length; at++) {
    const [row, above] = [at * labels, (at - 1) * labels];
    let size = 0;
    for (let label = 0; label < labels; label++) {
      let sum = 0;
      if (may(at, label)) {
        if (at === 0) sum = steps[labels * labels + label] ?? 0;
        else
          for (let from = 0; from < labels; from++)
            sum += (ahead[above + from] ?? 0) * (steps[from * labels + label] ?? 0);
        sum *= lifted[row + label] ?? 0;
      }
      ahead[row + label] = sum;
      size += sum;
    }
    if (!(size > 0)) return false;
    sizes[at] = size;
    for (let label = 0; label < labels; label++) ahead[row + label] = (ahead[row + label] ?? 0) / size;
  }
  behind.fill(1, (length - 1) * labels, length * labels);
  for (let at = length - 1; at > 0; at--) {
    const [row, above] = [at * labels, (at - 1) * labels];
    behind.fill(0, above, above + labels);
    for (let label = 0; label < labels; label++) {
      if (!may(at, label)) continue;
      const there = ((lifted[row + label] ?? 0) * (behind[row + label] ?? 0)) / (sizes[at] ?? 1);
      for (let from = 0; from < labels; from++) {
        const step = (steps[from * labels + label] ?? 0) * there;
        if (step === 0) continue;
        behind[above + from] = (behind[above + from] ?? 0) + step;
        const index = from * labels + label;
        stepGains[index] = (stepGains[index] ?? 0) + sign * (ahead[above + from] ?? 0) * step;
      }
    }
  }
  for (let index = 0; index < length * labels; index++)
    gains[index] = (gains[index] ?? 0) + sign * (ahead[index] ?? 0) * (behind[index] ?? 0);
  for (let label = 0; label < labels; label++)
    stepGains[labels * labels + label] =
      (stepGains[labels * labels + label] ?? 0) + sign * (ahead[label] ?? 0) * (behind[label] ?? 0);
  return true;
}
