// Why this decision and not the usual one: expected integrated gradients (EIG).
//
//   φ_j = mean over background rows i of (u_j − u_j^i) · ∫₀¹ ∂_j f(u^i + α(u − u^i)) dα
//
// They add up to f(u) − mean f(u^i); by how much they miss that is shown as the gap. The same holds
// on every piece of the way, which tells where 16 Gauss–Legendre nodes are too few: such pieces are
// halved until what they miss is rounding. Along a line every gate's logit is linear in α, so a row
// costs two passes over the weights, not one per node; a network is cut at the kinks of its units,
// between which its raw output is linear.

const GAUSS = gaussLegendre(16);
const GAUSS_SHORT = gaussLegendre(4); // for a network's many short pieces
const FEW_KINKS = 24;
const [MOST_PANELS, MOST_HALVINGS] = [256, 10];
const [TOLERANCE, SETTLED] = [1e-10, 1e-8];
const NEVER = 1e-18; // routes less likely than this are not followed

// Nodes and weights on [0, 1], by Newton's method on the Legendre polynomial.
function gaussLegendre(n) {
  const nodes = [];
  for (let i = 0; i < n; i++) {
    let x = Math.cos((Math.PI * (i + 0.75)) / (n + 0.5));
    let slope = 1;
    for (let pass = 0; pass < 50; pass++) {
      let [last, value] = [1, x];
      for (let k = 2; k <= n; k++)
        [last, value] = [value, ((2 * k - 1) * x * value - (k - 1) * last) / k];
      slope = (n * (x * value - last)) / (x * x - 1);
      const step = value / slope;
      x -= step;
      if (Math.abs(step) < 1e-16) break;
    }
    nodes.push({ at: (1 - x) / 2, weight: 1 / ((1 - x * x) * slope * slope) });
  }
  return nodes;
}

const BACKGROUND = (() => {
  const flat = unpacked(DATA.background);
  const d = UNITS.centre.length;
  return Array.from({ length: flat.length / d }, (_, i) => flat.slice(i * d, (i + 1) * d));
})();

// What of each background row can be computed once: its place, decision and logits.
const ORIGINS = BACKGROUND.map((x) => {
  const u = standardised(x);
  const lines = RULE instanceof Forest ? RULE.logits(u) : RULE.activations(u);
  return { u, lines, decision: RULE.decide(u) };
});

// One tree along the line from logits a to logits b. `value` is its decision k at α; with slopes to
// add to, the derivative by every logit goes there as well, `weight` times.
const ALONG = { a: null, b: null, tree: 0, k: 0, alpha: 0, weight: 0, slopes: null };

function visited(level, i, chance) {
  const { a, b, tree, k, alpha, slopes } = ALONG;
  if (level === RULE.depth) return RULE.leaf(tree, i, k);
  const gate = 2 ** level - 1 + i;
  const at = tree * RULE.gates + gate;
  const left = sigmoid((a[at] + alpha * (b[at] - a[at])) / RULE.temperature);
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

// For each gate ∫ ∂f_k/∂logit dα along the way from logits a to logits b.
function gateIntegrals(a, b, k) {
  const { trees, gates, temperature } = RULE;
  const sums = new Float64Array(trees * gates);
  const slopes = new Float64Array(gates);
  for (let t = 0; t < trees; t++) {
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
        for (let g = 0; g < gates; g++) sums[t * gates + g] += slopes[g] / trees;
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

// ∫ ∂f_k/∂u_j dα for every feature.
function forestSlopes(origin, target, k) {
  const sums = gateIntegrals(origin.lines, target.lines, k);
  const out = new Float64Array(target.u.length);
  for (let t = 0; t < RULE.trees; t++) {
    const seen = RULE.featuresOf(t);
    for (let g = t * RULE.gates; g < (t + 1) * RULE.gates; g++) {
      if (sums[g] === 0) continue;
      for (let m = 0; m < seen.length; m++) {
        out[seen[m]] += sums[g] * RULE.weights[g * RULE.width + m];
      }
    }
  }
  return out;
}

// The places in (0, 1) where hidden units of coordinates [first, end) switch on or off, in order.
function kinksOf(a, b, first, end) {
  const kinks = [];
  for (let i = first * RULE.width; i < end * RULE.width; i++) {
    const at = a[i] / (a[i] - b[i]);
    if (at > 0 && at < 1) kinks.push({ at, unit: i });
  }
  return kinks.sort((p, q) => p.at - q.at);
}

function mappedLine(origin, target, k, panels) {
  const { width, output, blocks } = RULE;
  const d = target.u.length;
  const [first, end] = blocks[k].reach(k);
  const [a, b] = [origin.lines, target.lines];
  const kinks = kinksOf(a, b, first, end);
  const nodes = kinks.length > FEW_KINKS ? GAUSS_SHORT : GAUSS;
  // Raw numbers are start + α·slope until the next kink, where one unit changes its mind.
  const start = RULE.raw(origin.u, a);
  const slope = new Float64Array(RULE.decisions);
  for (let c = first; c < end; c++) {
    for (let j = 0; RULE.matrix && j < d; j++) {
      slope[c] += RULE.matrix[c * d + j] * (target.u[j] - origin.u[j]);
    }
    for (let i = c * width; i < (c + 1) * width; i++) {
      if (a[i] > 0 || (a[i] === 0 && b[i] > 0)) slope[c] += (output[i] * (b[i] - a[i])) / width;
    }
  }
  // Integral of each slope of the map from 0 up to every kink, and up to 1.
  const sums = new Float64Array(end - first);
  const raw = new Float64Array(RULE.decisions);
  const upTo = new Map();
  let from = 0;
  for (let piece = 0; piece <= kinks.length; piece++) {
    const to = piece < kinks.length ? kinks[piece].at : 1;
    for (let p = 0; p < panels && to > from; p++) {
      for (const node of nodes) {
        const alpha = from + ((to - from) * (p + node.at)) / panels;
        for (let c = first; c < end; c++) raw[c] = start[c] + alpha * slope[c];
        const weight = (node.weight * (to - from)) / panels;
        blocks[k].slopes(raw, k).forEach((s, c) => (sums[c] += weight * s));
      }
    }
    from = to;
    if (piece === kinks.length) break;
    const i = kinks[piece].unit;
    const c = Math.floor(i / width);
    const turn = (a[i] > 0 ? -1 : 1) * (output[i] / width);
    start[c] += turn * a[i];
    slope[c] += turn * (b[i] - a[i]);
    upTo.set(i, sums[c - first]);
  }
  const out = new Float64Array(d);
  for (let c = first; c < end; c++) {
    const whole = sums[c - first];
    for (let j = 0; RULE.matrix && j < d; j++) out[j] += whole * RULE.matrix[c * d + j];
    for (let i = c * width; i < (c + 1) * width; i++) {
      const before = upTo.get(i);
      let active = a[i] > 0 || b[i] > 0 ? whole : 0;
      if (before !== undefined) active = a[i] > 0 ? before : whole - before;
      const weight = (output[i] * active) / width;
      for (let j = 0; weight !== 0 && j < d; j++) out[j] += weight * RULE.hidden[i * d + j];
    }
  }
  let total = 0;
  out.forEach((value, j) => (total += value * (target.u[j] - origin.u[j])));
  return { total, slopes: out };
}

// The same for networks and affine rules, with more panels until the row's own gap is rounding.
function mappedSlopes(origin, target, k, span) {
  const change = target.decision[k] - origin.decision[k];
  let line = null;
  let best = Infinity;
  for (let panels = 1; panels <= MOST_PANELS && best > TOLERANCE * span; panels *= 2) {
    const found = mappedLine(origin, target, k, panels);
    const gap = Math.abs(found.total - change);
    const settled = best < SETTLED * span && gap > best / 4; // nothing left but rounding
    if (gap < best || !line) [line, best] = [found, gap];
    if (settled) break;
  }
  return line.slopes;
}

// Attribution of one decision: values per feature, the usual decision, this one, and the gap.
function attributeOne(x, k) {
  const u = standardised(x);
  const forest = RULE instanceof Forest;
  const hard = forest && !(RULE.temperature > 0);
  const lines = forest ? RULE.logits(u) : RULE.activations(u);
  const target = { u, lines, decision: RULE.decide(u) };
  const values = new Float64Array(u.length);
  let usual = 0;
  const sizes = [target, ...ORIGINS].map((one) => Math.abs(one.decision[k]));
  const span = Math.max(...sizes, 1e-12);
  for (const origin of ORIGINS) {
    usual += origin.decision[k] / ORIGINS.length;
    if (hard) continue; // hard gates are flat between their jumps: all of it stays in the gap
    const slopes = forest ? forestSlopes(origin, target, k) : mappedSlopes(origin, target, k, span);
    slopes.forEach((slope, j) => {
      values[j] += (slope * (u[j] - origin.u[j])) / ORIGINS.length;
    });
  }
  const unit = UNITS.decision[k];
  const scaled = values.map((v) => v * unit);
  const decision = target.decision[k] * unit;
  const baseline = usual * unit;
  const gap = decision - baseline - scaled.reduce((sum, v) => sum + v, 0);
  return { values: scaled, baseline, decision, gap };
}

// The same for every decision, or some, with the shapes that Python's explain.attribute has.
function attribute(x, decisions = Array.from(UNITS.decision.keys())) {
  const all = decisions.map((k) => attributeOne(x, k));
  return {
    values: all.map((one) => Array.from(one.values)),
    baseline: all.map((one) => one.baseline),
    decision: all.map((one) => one.decision),
    gap: Math.max(...all.map((one) => Math.abs(one.gap))),
  };
}
