// The policy's rule, in the user's units. RULE comes from the rule's own script and maps a
// standardised context u to decisions in working units; it is null if the rule brings no script,
// and then the page shows what was computed before and nothing else (see PageForm in Python).

const TREES = RULE?.trees ?? null;
const UNITS = {
  centre: unpacked(DATA.units.centre),
  factor: unpacked(DATA.units.factor),
  decision: unpacked(DATA.units.decision),
};

const standardised = (x) => UNITS.centre.map((c, j) => (x[j] - c) * UNITS.factor[j]);

// Decisions for a context x.
const decide = (x) => Float64Array.from(RULE.decide(standardised(x)), (z, k) => z * UNITS.decision[k]);

// Probability of coming to every node of one tree, level by level, the last level being leaves.
const arrivals = (x, tree) => TREES.arrivals(standardised(x), tree);

// Probabilities of the routes through one tree; empty for rules without trees.
const routes = (x, tree = 0) => (TREES ? arrivals(x, tree)[TREES.depth] : new Float64Array(0));

// What the leaf of a tree decides.
const leafDecision = (tree, leaf, k) => TREES.leaf(tree, leaf, k) * UNITS.decision[k];
