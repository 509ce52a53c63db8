// Why this decision and not the usual one: expected integrated gradients (EIG).
//
//   φ_j = mean over background rows i of (u_j − u_j^i) · ∫₀¹ ∂_j f(u^i + α(u − u^i)) dα
//
// They add up to f(u) − mean f(u^i); by how much they miss that is shown as the gap. Integrals use
// 16 Gauss–Legendre nodes on 1, 2, 4, … panels until each row's own gap is at rounding. Along a
// line every gate's logit is linear in α, so a row costs two passes over the weights, not one per
// node; a network is cut at the kinks of its units, between which its raw output is linear.

const GAUSS = gaussLegendre(16);
const GAUSS_SHORT = gaussLegendre(4); // for a network's many short pieces
const FEW_KINKS = 24;
const MOST_PANELS = 256;
const [TOLERANCE, SETTLED] = [1e-11, 1e-8];

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

// For each gate ∫ ∂f_k/∂logit dα along the way from logits a to logits b.
function gateIntegrals(a, b, k, panels) {
  const { trees, gates, depth, temperature } = RULE;
  const sums = new Float64Array(trees * gates);
  const left = new Float64Array(gates);
  const arrive = new Float64Array(gates);
  const values = new Float64Array(RULE.leafCount);
  for (let p = 0; p < panels; p++) {
    for (const node of GAUSS) {
      const alpha = (p + node.at) / panels;
      const weight = node.weight / panels / trees / temperature;
      for (let t = 0; t < trees; t++) {
        const first = t * gates;
        for (let g = 0; g < gates; g++) {
          left[g] = RULE.left(a[first + g] + alpha * (b[first + g] - a[first + g]));
        }
        arrive[0] = 1;
        for (let v = 0; v + 1 < depth; v++) {
          const size = 2 ** v;
          for (let i = 0; i < size; i++) {
            const g = size - 1 + i;
            arrive[2 * size - 1 + i] = arrive[g] * left[g];
            arrive[3 * size - 1 + i] = arrive[g] * (1 - left[g]);
          }
        }
        for (let l = 0; l < values.length; l++) values[l] = RULE.leaf(t, l, k);
        for (let v = depth - 1; v >= 0; v--) {
          const size = 2 ** v;
          for (let i = 0; i < size; i++) {
            const g = size - 1 + i;
            const gap = values[i] - values[i + size];
            sums[first + g] += weight * arrive[g] * left[g] * (1 - left[g]) * gap;
            values[i] = values[i + size] + left[g] * gap;
          }
        }
      }
    }
  }
  return sums;
}

// ∫ ∂f_k/∂u_j dα for every feature, and what the sum over features comes to.
function forestLine(origin, target, k, panels) {
  const sums = gateIntegrals(origin.lines, target.lines, k, panels);
  let total = 0;
  sums.forEach((sum, g) => (total += sum * (target.lines[g] - origin.lines[g])));
  const slopes = () => {
    const out = new Float64Array(target.u.length);
    for (let t = 0; t < RULE.trees; t++) {
      const seen = RULE.featuresOf(t);
      for (let g = t * RULE.gates; g < (t + 1) * RULE.gates; g++) {
        for (let m = 0; m < seen.length; m++) {
          out[seen[m]] += sums[g] * RULE.weights[g * RULE.width + m];
        }
      }
    }
    return out;
  };
  return { total, slopes };
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
  return { total, slopes: () => out };
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
    const change = target.decision[k] - origin.decision[k];
    if (hard) continue; // hard gates are flat between their jumps: all of it stays in the gap
    let line;
    let best = Infinity;
    for (let panels = 1; panels <= MOST_PANELS && best > TOLERANCE * span; panels *= 2) {
      const found = (forest ? forestLine : mappedLine)(origin, target, k, panels);
      const gap = Math.abs(found.total - change);
      const settled = best < SETTLED * span && gap > best / 4; // nothing left but rounding
      if (gap < best || !line) [line, best] = [found, gap];
      if (settled) break;
    }
    line.slopes().forEach((slope, j) => {
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

// The same for every decision, with the shapes that Python's explain.attribute has.
function attribute(x) {
  const all = Array.from(UNITS.decision, (_, k) => attributeOne(x, k));
  return {
    values: all.map((one) => Array.from(one.values)),
    baseline: all.map((one) => one.baseline),
    decision: all.map((one) => one.decision),
    gap: Math.max(...all.map((one) => Math.abs(one.gap))),
  };
}
