// Functions that rules and their attributions are computed with.

const sigmoid = (v) => (v >= 0 ? 1 / (1 + Math.exp(-v)) : Math.exp(v) / (1 + Math.exp(v)));
const softplus = (v) => Math.max(v, 0) + Math.log1p(Math.exp(-Math.abs(v)));

function dot(matrix, start, vector) {
  let sum = 0;
  for (let j = 0; j < vector.length; j++) sum += matrix[start + j] * vector[j];
  return sum;
}

// Gauss–Legendre nodes and weights on [0, 1], by Newton's method on the Legendre polynomial.
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

const GAUSS = gaussLegendre(16);
