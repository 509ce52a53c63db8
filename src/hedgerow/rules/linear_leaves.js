// A soft forest with affine leaves, up to the map onto the decision set, whose blocks are MAPS:
//
//   f(u) = map( (1/T) Σ_t Σ_l p_tl(u) · (c_tl + A_tl u) )
//
// Gates and leaves lie as in forest.js; `rises` is A (trees, leaves, decisions, features seen).
// There are no slopes: the page differentiates `decide` numerically.

const { trees, depth, decisions, temperature, weights, biases, leaves, rises, seen } = parameters;
const [gateCount, leafCount] = [2 ** depth - 1, 2 ** depth];
const width = weights.length / (trees * gateCount);

const maps = parameters.blocks.flatMap((spec, i) => {
  const map = MAPS[i](spec);
  const start = parameters.blocks.slice(0, i).reduce((sum, block) => sum + block.size, 0);
  return Array.from({ length: spec.size }, (_, k) => (raw) =>
    map.value(raw.subarray(start, start + spec.size), k),
  );
});

const left = (logit) => (temperature > 0 ? sigmoid(logit / temperature) : logit > 0 ? 1 : 0);

// Adds what lies beyond one node, of which there is such a chance, to the raw decisions.
function walk(raw, u, tree, level, i, chance) {
  if (chance === 0) return;
  if (level === depth) {
    for (let k = 0; k < decisions; k++) {
      const at = (tree * leafCount + i) * decisions + k;
      raw[k] += (chance * (leaves[at] + dot(rises, at * width, u))) / trees;
    }
    return;
  }
  const gate = tree * gateCount + 2 ** level - 1 + i;
  const s = left(dot(weights, gate * width, u) + biases[gate]);
  walk(raw, u, tree, level + 1, i, chance * s);
  walk(raw, u, tree, level + 1, i + 2 ** level, chance * (1 - s));
}

function decide(u) {
  const raw = new Float64Array(decisions);
  for (let t = 0; t < trees; t++) {
    walk(raw, seen ? Float64Array.from(seen[t], (j) => u[j]) : u, t, 0, 0, 1);
  }
  return raw.map((_, k) => maps[k](raw));
}

return { decide };
