// Why this decision and not the usual one: expected integrated gradients (EIG).
//
//   φ_j = mean over background rows i of (u_j − u_j^i) · ∫₀¹ ∂_j f(u^i + α(u − u^i)) dα
//
// They add up to f(u) − mean f(u^i); by how much they miss that is shown as the gap. A rule that
// brings `slopes` integrates along the way as suits it best; others are differentiated numerically.

const STEP = 1e-5;

const BACKGROUND = (() => {
  const flat = unpacked(DATA.background);
  const d = UNITS.centre.length;
  return Array.from({ length: flat.length / d }, (_, i) => flat.slice(i * d, (i + 1) * d));
})();

// A point with what of it is computed once.
function pointAt(x) {
  const u = standardised(x);
  return { u, prepared: RULE.prepare?.(u), decision: RULE.decide(u) };
}

const ORIGINS = RULE ? BACKGROUND.map(pointAt) : [];

// ∫₀¹ ∂f_k/∂u_j dα by central differences, for every feature that moves.
function numericSlopes(from, to, k) {
  return from.u.map((start, j) => {
    if (to.u[j] === start) return 0;
    let sum = 0;
    for (const node of GAUSS) {
      const [ahead, behind] = [STEP, -STEP].map((step) => {
        const u = from.u.map((v, i) => v + node.at * (to.u[i] - v));
        u[j] += step;
        return RULE.decide(u)[k];
      });
      sum += (node.weight * (ahead - behind)) / (2 * STEP);
    }
    return sum;
  });
}

// Attribution of one decision: values per feature, the usual decision, this one, and the gap.
function attributeOne(x, k) {
  const target = pointAt(x);
  const values = new Float64Array(target.u.length);
  let usual = 0;
  const sizes = [target, ...ORIGINS].map((one) => Math.abs(one.decision[k]));
  const span = Math.max(...sizes, 1e-12);
  for (const origin of ORIGINS) {
    usual += origin.decision[k] / ORIGINS.length;
    const slopes = (RULE.slopes ?? numericSlopes)(origin, target, k, span);
    slopes.forEach((slope, j) => {
      values[j] += (slope * (target.u[j] - origin.u[j])) / ORIGINS.length;
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
