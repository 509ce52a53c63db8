// Shares of a whole: softmax of all raw numbers.

function shares(raw) {
  const most = raw.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = raw.map((r) => Math.exp(r - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((p) => p / sum);
}

return {
  alone: false,

  value: (raw, k) => shares(raw)[k],

  slopes(raw, k) {
    const all = shares(raw);
    return Array.from(all, (share, c) => all[k] * ((c === k ? 1 : 0) - share));
  },
};
