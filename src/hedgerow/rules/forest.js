// A soft forest: f(u) = (1/T) Σ_t Σ_l p_tl(u) · leaf_tl, where a gate turns left with probability
// S((w·u + b)/τ). Gate i of level v has children i and i + 2^v on the next level, so bit v of a
// leaf's number is its turn at level v (0 left, 1 right). Leaves come mapped onto the decision set.

const [MOST_HALVINGS, TOLERANCE] = [10, 1e-10];
const NEVER = 1e-18; // routes less likely than this are not followed

class Forest {
  constructor(spec) {
    this.count = spec.trees;
    this.depth = spec.depth;
    this.gates = 2 ** spec.depth - 1;
    this.leafCount = 2 ** spec.depth;
    this.decisions = spec.decisions;
    this.temperature = spec.temperature;
    this.weights = spec.weights; // (trees, gates, features seen)
    this.biases = spec.biases;
    this.leaves = spec.leaves; // (trees, leaves, decisions)
    this.seen = spec.seen; // which features each tree sees; null: all
    this.width = this.weights.length / (this.count * this.gates);
  }

  featuresOf(tree) {
    return this.seen ? this.seen[tree] : Array.from({ length: this.width }, (_, j) => j);
  }

  // Weights of one gate, beside the features they belong to.
  weightsOf(tree, gate) {
    const at = (tree * this.gates + gate) * this.width;
    return this.featuresOf(tree).map((feature, m) => ({ feature, weight: this.weights[at + m] }));
  }

  // w·u + b of every gate, (trees × gates).
  logits(u) {
    const out = new Float64Array(this.count * this.gates);
    for (let t = 0; t < this.count; t++) {
      const seen = this.seen ? Float64Array.from(this.seen[t], (j) => u[j]) : u;
      for (let g = t * this.gates; g < (t + 1) * this.gates; g++) {
        out[g] = dot(this.weights, g * this.width, seen) + this.biases[g];
      }
    }
    return out;
  }

  left(logit) {
    return this.temperature > 0 ? sigmoid(logit / this.temperature) : logit > 0 ? 1 : 0;
  }

  // Probability of arriving at every node of one tree: levels[v][i], the last level being leaves.
  arrivals(u, tree, logits = this.logits(u)) {
    const levels = [Float64Array.of(1)];
    for (let v = 0; v < this.depth; v++) {
      const size = 2 ** v;
      const next = new Float64Array(2 * size);
      for (let i = 0; i < size; i++) {
        const s = this.left(logits[tree * this.gates + size - 1 + i]);
        next[i] = levels[v][i] * s;
        next[i + size] = levels[v][i] * (1 - s);
      }
      levels.push(next);
    }
    return levels;
  }

  leaf(tree, leaf, k) {
    return this.leaves[(tree * this.leafCount + leaf) * this.decisions + k];
  }

  decide(u) {
    const logits = this.logits(u);
    const out = new Float64Array(this.decisions);
    for (let t = 0; t < this.count; t++) {
      const routes = this.arrivals(u, t, logits)[this.depth];
      for (let l = 0; l < this.leafCount; l++) {
        const at = (t * this.leafCount + l) * this.decisions;
        for (let k = 0; k < out.length; k++) out[k] += routes[l] * this.leaves[at + k];
      }
    }
    return out.map((sum) => sum / this.count);
  }
}

const forest = new Forest(parameters);

// One tree along the line from logits a to logits b. `treeAt` is its decision k at α; with slopes
// to add to, the derivative by every logit goes there as well, `weight` times.
const ALONG = { a: null, b: null, tree: 0, k: 0, alpha: 0, weight: 0, slopes: null };

function visited(level, i, chance) {
  const { a, b, tree, k, alpha, slopes } = ALONG;
  if (level === forest.depth) return forest.leaf(tree, i, k);
  const gate = 2 ** level - 1 + i;
  const at = tree * forest.gates + gate;
  const left = sigmoid((a[at] + alpha * (b[at] - a[at])) / forest.temperature);
  const up = chance * left;
  const down = chance * (1 - left);
  const high = up > NEVER ? visited(level + 1, i, up) : 0;
  const low = down > NEVER ? visited(level + 1, i + 2 ** level, down) : 0;
  if (slopes) slopes[gate] += ALONG.weight * up * (1 - left) * (high - low);
  return left * high + (1 - left) * low;
}

function treeAt(alpha, weight = 0, slopes = null) {
  ALONG.alpha = alpha;
  ALONG.weight = weight;
  ALONG.slopes = slopes;
  return visited(0, 0, 1);
}

// For each gate ∫ ∂f_k/∂logit dα along the way from logits a to logits b. A row costs two passes
// over the weights, not one per node: along a line every logit is linear in α. Pieces of the way on
// which 16 nodes miss the tree's own change are halved until what they miss is rounding.
function gateIntegrals(a, b, k) {
  const { count, gates, temperature } = forest;
  const sums = new Float64Array(count * gates);
  const slopes = new Float64Array(gates);
  for (let t = 0; t < count; t++) {
    Object.assign(ALONG, { a, b, k, tree: t });
    const open = [{ from: 0, to: 1, first: treeAt(0), last: treeAt(1), halvings: 0 }];
    while (open.length) {
      const { from, to, first, last, halvings } = open.pop();
      slopes.fill(0);
      for (const node of GAUSS) {
        treeAt(from + node.at * (to - from), (node.weight * (to - from)) / temperature, slopes);
      }
      let missed = first - last;
      for (let g = 0; g < gates; g++) missed += slopes[g] * (b[t * gates + g] - a[t * gates + g]);
      const allowed = TOLERANCE * Math.max(Math.abs(first), Math.abs(last));
      if (Math.abs(missed) <= allowed || halvings === MOST_HALVINGS) {
        for (let g = 0; g < gates; g++) sums[t * gates + g] += slopes[g] / count;
        continue;
      }
      const middle = (from + to) / 2;
      const value = treeAt(middle);
      open.push({ from, to: middle, first, last: value, halvings: halvings + 1 });
      open.push({ from: middle, to, first: value, last, halvings: halvings + 1 });
    }
  }
  return sums;
}

// The same of a hard forest: on the way every gate whose logit changes sign turns its tree once,
// and what the decision jumps by is the integral of the gate's slope times its logit's change.
function gateJumps(a, b, k) {
  const { count, gates, depth } = forest;
  const sums = new Float64Array(count * gates);
  for (let t = 0; t < count; t++) {
    const open = Array.from({ length: gates }, (_, g) => a[t * gates + g] > 0);
    const turning = open
      .map((left, g) => ({ g, change: b[t * gates + g] - a[t * gates + g], left }))
      .filter(({ g, left }) => left !== b[t * gates + g] > 0)
      .sort((p, q) => -a[t * gates + p.g] / p.change + a[t * gates + q.g] / q.change);
    const reached = () => {
      let leaf = 0;
      for (let v = 0; v < depth; v++) leaf += open[2 ** v - 1 + leaf] ? 0 : 2 ** v;
      return forest.leaf(t, leaf, k);
    };
    let here = reached();
    for (const { g, change } of turning) {
      open[g] = !open[g];
      const there = reached();
      sums[t * gates + g] = (there - here) / change / count;
      here = there;
    }
  }
  return sums;
}

function slopes(from, to, k) {
  const out = new Float64Array(to.u.length);
  const integrals = forest.temperature > 0 ? gateIntegrals : gateJumps;
  const sums = integrals(from.prepared, to.prepared, k);
  for (let t = 0; t < forest.count; t++) {
    const seen = forest.featuresOf(t);
    for (let g = t * forest.gates; g < (t + 1) * forest.gates; g++) {
      if (sums[g] === 0) continue;
      for (let m = 0; m < seen.length; m++) {
        out[seen[m]] += sums[g] * forest.weights[g * forest.width + m];
      }
    }
  }
  return out;
}

return { decide: (u) => forest.decide(u), prepare: (u) => forest.logits(u), slopes, trees: forest };
