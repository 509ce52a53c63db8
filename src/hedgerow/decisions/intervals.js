// Decisions between two ends of their own (null: no end), each from its own raw number.

const ends = (k) => [parameters.low[k], parameters.high[k]];

return {
  alone: true,

  value(raw, k) {
    const [low, high] = ends(k);
    if (low !== null && high !== null) return low + (high - low) * sigmoid(raw[k]);
    if (low !== null) return low + softplus(raw[k]);
    return high !== null ? high - softplus(-raw[k]) : raw[k];
  },

  slopes(raw, k) {
    const [low, high] = ends(k);
    const s = sigmoid(raw[k]);
    if (low !== null && high !== null) return [(high - low) * s * (1 - s)];
    if (low !== null) return [s];
    return [high !== null ? 1 - s : 1];
  },
};
