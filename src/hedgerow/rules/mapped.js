// Rules that are piecewise linear up to the map onto the decision set, whose blocks are MAPS:
//
//   constant   f(u) = map(c)              affine   f(u) = map(A u + c)
//   network    f_k(u) = map((1/m) Σ_i a_ik · max(w_ik·u + b_ik, 0) + c_k)

const GAUSS_SHORT = gaussLegendre(4); // for a network's many short pieces
const FEW_KINKS = 24;
const MOST_PANELS = 256;
const [TOLERANCE, SETTLED] = [1e-10, 1e-8];

const { offset, matrix, hidden, bias, output } = parameters; // matrix (k × d), hidden (k × m × d)
const width = hidden ? bias.length / offset.length : 0;

// For every decision its block of the map, and the coordinates [first, end) that it depends on.
const coordinates = parameters.blocks.flatMap((spec, i) => {
  const map = MAPS[i](spec);
  const start = parameters.blocks.slice(0, i).reduce((sum, block) => sum + block.size, 0);
  return Array.from({ length: spec.size }, (_, k) => ({
    first: map.alone ? start + k : start,
    end: map.alone ? start + k + 1 : start + spec.size,
    value: (raw) => map.value(raw.subarray(start, start + spec.size), k),
    slopes: (raw) => map.slopes(raw.subarray(start, start + spec.size), k),
  }));
});

// w·u + b of every hidden unit, (decisions × width).
const activations = (u) =>
  hidden ? bias.map((b, i) => dot(hidden, i * u.length, u) + b) : new Float64Array(0);

const rawAt = (u, active = activations(u)) =>
  offset.map((c, k) => {
    let sum = c + (matrix ? dot(matrix, k * u.length, u) : 0);
    for (let i = k * width; i < (k + 1) * width; i++) {
      sum += (output[i] * Math.max(active[i], 0)) / width;
    }
    return sum;
  });

function decide(u) {
  const raw = rawAt(u);
  return raw.map((_, k) => coordinates[k].value(raw));
}

// The places in (0, 1) where hidden units of coordinates [first, end) switch on or off, in order.
function kinksOf(a, b, first, end) {
  const kinks = [];
  for (let i = first * width; i < end * width; i++) {
    const at = a[i] / (a[i] - b[i]);
    if (at > 0 && at < 1) kinks.push({ at, unit: i });
  }
  return kinks.sort((p, q) => p.at - q.at);
}

// One line: between kinks the raw numbers are linear, so only the map is integrated.
function line(from, to, k, panels) {
  const d = to.u.length;
  const { first, end } = coordinates[k];
  const [a, b] = [from.prepared, to.prepared];
  const kinks = kinksOf(a, b, first, end);
  const nodes = kinks.length > FEW_KINKS ? GAUSS_SHORT : GAUSS;
  // Raw numbers are start + α·slope until the next kink, where one unit changes its mind.
  const start = rawAt(from.u, a);
  const slope = new Float64Array(offset.length);
  for (let c = first; c < end; c++) {
    for (let j = 0; matrix && j < d; j++) slope[c] += matrix[c * d + j] * (to.u[j] - from.u[j]);
    for (let i = c * width; i < (c + 1) * width; i++) {
      if (a[i] > 0 || (a[i] === 0 && b[i] > 0)) slope[c] += (output[i] * (b[i] - a[i])) / width;
    }
  }
  // Integral of each slope of the map from 0 up to every kink, and up to 1.
  const sums = new Float64Array(end - first);
  const raw = new Float64Array(offset.length);
  const upTo = new Map();
  let begin = 0;
  for (let piece = 0; piece <= kinks.length; piece++) {
    const stop = piece < kinks.length ? kinks[piece].at : 1;
    for (let p = 0; p < panels && stop > begin; p++) {
      for (const node of nodes) {
        const alpha = begin + ((stop - begin) * (p + node.at)) / panels;
        for (let c = first; c < end; c++) raw[c] = start[c] + alpha * slope[c];
        const weight = (node.weight * (stop - begin)) / panels;
        coordinates[k].slopes(raw).forEach((s, c) => (sums[c] += weight * s));
      }
    }
    begin = stop;
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
    for (let j = 0; matrix && j < d; j++) out[j] += whole * matrix[c * d + j];
    for (let i = c * width; i < (c + 1) * width; i++) {
      const before = upTo.get(i);
      let active = a[i] > 0 || b[i] > 0 ? whole : 0;
      if (before !== undefined) active = a[i] > 0 ? before : whole - before;
      const weight = (output[i] * active) / width;
      for (let j = 0; weight !== 0 && j < d; j++) out[j] += weight * hidden[i * d + j];
    }
  }
  let total = 0;
  out.forEach((value, j) => (total += value * (to.u[j] - from.u[j])));
  return { total, slopes: out };
}

// More panels until the line's own gap is rounding.
function slopes(from, to, k, span) {
  const change = to.decision[k] - from.decision[k];
  let best = { found: null, gap: Infinity };
  for (let panels = 1; panels <= MOST_PANELS && best.gap > TOLERANCE * span; panels *= 2) {
    const found = line(from, to, k, panels);
    const gap = Math.abs(found.total - change);
    const settled = best.gap < SETTLED * span && gap > best.gap / 4; // nothing left but rounding
    if (gap < best.gap || !best.found) best = { found, gap };
    if (settled) break;
  }
  return best.found.slopes;
}

return { decide, prepare: activations, slopes };
