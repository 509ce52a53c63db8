// The policy's rule, in float64: standardised context u → decision in working units.
//
//   forest      f(u) = (1/T) Σ_t Σ_l p_tl(u) · leaf_tl, where a gate turns left with probability
//               S((w·u + b)/τ); gate i of level v has children i and i + 2^v on the next level, so
//               bit v of a leaf's number is its turn at level v (0 left, 1 right)
//   affine      f(u) = map(A u + c)            constant   f(u) = map(c)
//   two-layer   f_k(u) = map((1/m) Σ_i a_ik · max(w_ik·u + b_ik, 0) + c_k)
//
// The leaves of a forest come mapped onto the decision set already; other rules map here.

const sigmoid = (v) => (v >= 0 ? 1 / (1 + Math.exp(-v)) : Math.exp(v) / (1 + Math.exp(v)));
const softplus = (v) => Math.max(v, 0) + Math.log1p(Math.exp(-Math.abs(v)));

function dot(matrix, start, vector) {
  let sum = 0;
  for (let j = 0; j < vector.length; j++) sum += matrix[start + j] * vector[j];
  return sum;
}

// A decision set is a row of blocks; each maps its raw numbers and knows its derivatives.
class Block {
  constructor(spec, start) {
    Object.assign(this, spec); // kind, size, and low and high of a box (null: no end)
    this.start = start;
  }

  // Coordinates that decision k depends on, as [first, end).
  reach(k) {
    return this.kind === "simplex" ? [this.start, this.start + this.size] : [k, k + 1];
  }

  value(raw, k) {
    if (this.kind === "free") return raw[k];
    if (this.kind === "nonnegative") return softplus(raw[k]);
    if (this.kind === "box") {
      const [low, high] = [this.low[k - this.start], this.high[k - this.start]];
      if (low !== null && high !== null) return low + (high - low) * sigmoid(raw[k]);
      if (low !== null) return low + softplus(raw[k]);
      return high !== null ? high - softplus(-raw[k]) : raw[k];
    }
    return this.shares(raw)[k - this.start];
  }

  shares(raw) {
    const part = raw.slice(this.start, this.start + this.size);
    const most = part.reduce((a, b) => Math.max(a, b), -Infinity);
    const powers = part.map((r) => Math.exp(r - most));
    const sum = powers.reduce((a, b) => a + b, 0);
    return powers.map((p) => p / sum);
  }

  // ∂ decision k / ∂ raw c for every c that k depends on.
  slopes(raw, k) {
    if (this.kind === "free") return [1];
    if (this.kind === "nonnegative") return [sigmoid(raw[k])];
    if (this.kind === "box") {
      const [low, high] = [this.low[k - this.start], this.high[k - this.start]];
      const s = sigmoid(raw[k]);
      if (low !== null && high !== null) return [(high - low) * s * (1 - s)];
      if (low !== null) return [s];
      return [high !== null ? 1 - s : 1];
    }
    const shares = this.shares(raw);
    const own = k - this.start;
    return Array.from(shares, (share, c) => shares[own] * ((c === own ? 1 : 0) - share));
  }
}

class Forest {
  constructor(spec) {
    this.trees = spec.trees;
    this.depth = spec.depth;
    this.gates = 2 ** spec.depth - 1;
    this.leafCount = 2 ** spec.depth;
    this.decisions = spec.decisions;
    this.temperature = spec.temperature;
    this.weights = unpacked(spec.weights); // (trees, gates, features seen)
    this.biases = unpacked(spec.biases);
    this.leaves = unpacked(spec.leaves); // (trees, leaves, decisions)
    this.seen = spec.seen; // which features each tree sees; null: all
    this.width = this.weights.length / (this.trees * this.gates);
  }

  featuresOf(tree) {
    return this.seen ? this.seen[tree] : Array.from({ length: this.width }, (_, j) => j);
  }

  // w·u + b of every gate, (trees × gates).
  logits(u) {
    const out = new Float64Array(this.trees * this.gates);
    for (let t = 0; t < this.trees; t++) {
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
  arrivals(logits, tree) {
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
    for (let t = 0; t < this.trees; t++) {
      const routes = this.arrivals(logits, t)[this.depth];
      for (let l = 0; l < this.leafCount; l++) {
        const at = (t * this.leafCount + l) * this.decisions;
        for (let k = 0; k < out.length; k++) out[k] += routes[l] * this.leaves[at + k];
      }
    }
    return out.map((sum) => sum / this.trees);
  }
}

// Rules that are piecewise linear up to the map. `units` are the hidden units of a network.
class Mapped {
  constructor(spec) {
    this.offset = unpacked(spec.offset);
    this.decisions = this.offset.length;
    this.matrix = spec.matrix ? unpacked(spec.matrix) : null; // (decisions, features)
    this.hidden = spec.hidden ? unpacked(spec.hidden) : null; // (decisions, width, features)
    this.bias = spec.hidden ? unpacked(spec.bias) : null;
    this.output = spec.hidden ? unpacked(spec.output) : null;
    this.width = spec.hidden ? this.bias.length / this.decisions : 0;
    this.blocks = [];
    let start = 0;
    for (const part of spec.map) {
      const block = new Block(part, start);
      start += part.size;
      for (let k = 0; k < part.size; k++) this.blocks.push(block); // one entry per decision
    }
  }

  // w·u + b of every hidden unit, (decisions × width).
  activations(u) {
    return this.bias ? this.bias.map((b, i) => dot(this.hidden, i * u.length, u) + b) : null;
  }

  raw(u, activations = this.activations(u)) {
    return this.offset.map((c, k) => {
      let sum = c + (this.matrix ? dot(this.matrix, k * u.length, u) : 0);
      for (let i = k * this.width; i < (k + 1) * this.width; i++) {
        sum += (this.output[i] * Math.max(activations[i], 0)) / this.width;
      }
      return sum;
    });
  }

  decide(u) {
    const raw = this.raw(u);
    return raw.map((_, k) => this.blocks[k].value(raw, k));
  }
}

const RULE = DATA.rule.kind === "forest" ? new Forest(DATA.rule) : new Mapped(DATA.rule);
const UNITS = {
  centre: unpacked(DATA.units.centre),
  factor: unpacked(DATA.units.factor),
  decision: unpacked(DATA.units.decision),
};

const standardised = (x) => UNITS.centre.map((c, j) => (x[j] - c) * UNITS.factor[j]);

// Decisions in the user's units for a context x in the user's units.
const decide = (x) => RULE.decide(standardised(x)).map((z, k) => z * UNITS.decision[k]);

// Probabilities of the routes through one tree; empty for rules without trees.
function routes(x, tree = 0) {
  if (!(RULE instanceof Forest)) return new Float64Array(0);
  return RULE.arrivals(RULE.logits(standardised(x)), tree)[RULE.depth];
}
