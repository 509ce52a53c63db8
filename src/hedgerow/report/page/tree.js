// One tree of the forest, drawn from left to right: every gate sends the input up or down by
// degrees, and the thicker a line, the more of the current input goes along it.
//
// A gate names the columns that weigh most in it (weights per standard deviation, as shares of the
// gate's whole weight): ▲ a higher value leads up, ▼ a higher value leads down. Deep trees are
// opened along the routes that carry most; what is not opened is said.

const [LEAF_W, LINE_H, BEND, MOST_LEAVES] = [96, 16, 84, 16];
const [NARROW_STEP, WIDE_STEP] = [280, 400];
const mostWeights = () => (TREES.depth <= 3 ? 4 : 3);

function gateWeights(tree, gate) {
  const weights = TREES.weightsOf(tree, gate).map(({ feature, weight }) => ({
    feature,
    weight: UNITS.factor[feature] > 0 ? weight : 0,
  }));
  const whole = weights.reduce((sum, one) => sum + Math.abs(one.weight), 0) || 1;
  return weights
    .map((one) => ({ ...one, share: one.weight / whole }))
    .sort((a, b) => Math.abs(b.share) - Math.abs(a.share))
    .slice(0, mostWeights());
}

// Nodes to draw, opened from the root where most of the input goes, until enough leaves show.
function openedTree(chances) {
  const root = { level: 0, index: 0, chance: 1 };
  const closed = [root];
  while (closed.length < MOST_LEAVES) {
    const inner = closed.filter((node) => node.level < TREES.depth);
    if (!inner.length) break;
    const node = inner.reduce((best, other) => (other.chance > best.chance ? other : best));
    node.children = [0, 1].map((turn) => {
      const [level, index] = [node.level + 1, node.index + turn * 2 ** node.level];
      return { level, index, chance: chances[level][index] };
    });
    closed.splice(closed.indexOf(node), 1, ...node.children);
  }
  return root;
}

function layout(root) {
  let row = 0;
  const place = (node) => {
    if (!node.children) {
      node.row = row++;
      return;
    }
    node.children.forEach(place);
    node.row = (node.children[0].row + node.children[1].row) / 2;
  };
  place(root);
  return row;
}

function branch(from, to, chance, turn) {
  const bend = (from.x + to.x) / 2;
  const width = 1 + 9 * chance;
  return [
    drawn("path", {
      class: `branch${chance < 0.005 ? " faint" : ""}`,
      "stroke-width": width.toFixed(2),
      d: `M${from.x} ${from.y}C${bend} ${from.y} ${bend} ${to.y} ${to.x} ${to.y}`,
    }),
    drawn(
      "text",
      {
        class: "chance",
        x: to.x - 5,
        y: turn ? to.y + 13 + width / 2 : to.y - 5 - width / 2,
        "text-anchor": "end",
      },
      percent(chance),
    ),
  ];
}

function drawTree(place) {
  const { tree, decision, x } = STATE;
  const chances = arrivals(x, tree);
  const root = openedTree(chances);
  const leaves = layout(root);
  let deepest = 0;
  const visit = (node) => {
    deepest = Math.max(deepest, node.level);
    (node.children ?? []).forEach(visit);
  };
  visit(root);
  const box = Math.min(mostWeights(), TREES.width) * LINE_H + 12;
  const pitch = Math.max(46, box / 2 + 8);
  const room = (widthOf(place) - LEAF_W - 12) / Math.max(deepest, 1);
  const STEP_W = Math.min(Math.max(room, NARROW_STEP), WIDE_STEP);
  const GATE_W = STEP_W - BEND;
  const height = Math.max(leaves * pitch, box) + 12;
  const width = deepest * STEP_W + LEAF_W + 8;
  const [ink, labels] = [[], []]; // what is read lies above what is drawn
  const draw = (node) => {
    const [x0, y] = [4 + node.level * STEP_W, 6 + (node.row + 0.5) * pitch];
    if (node.level === TREES.depth) {
      const value = leafDecision(tree, node.index, decision);
      ink.push(
        drawn("rect", { class: "leaf", x: x0, y: y - 16, width: LEAF_W, height: 32, rx: 16 }),
        drawn(
          "text",
          { class: "leaf-text", x: x0 + LEAF_W / 2, y: y + 5, "text-anchor": "middle" },
          amount(decision, value),
        ),
      );
      return;
    }
    if (!node.children) {
      ink.push(
        drawn(
          "text",
          { class: "closed", x: x0, y: y + 4 },
          `… ${2 ** (TREES.depth - node.level)} leaves`,
        ),
      );
      return;
    }
    node.children.forEach((child, turn) => {
      const from = { x: x0 + GATE_W, y };
      const to = { x: x0 + STEP_W, y: 6 + (child.row + 0.5) * pitch };
      const [line, label] = branch(from, to, child.chance, turn);
      ink.push(line);
      labels.push(label);
    });
    ink.push(
      drawn("rect", { class: "gate", x: x0, y: y - box / 2, width: GATE_W, height: box, rx: 6 }),
    );
    gateWeights(tree, 2 ** node.level - 1 + node.index).forEach((one, i) => {
      const at = y - box / 2 + 17 + i * LINE_H;
      ink.push(
        drawn(
          "text",
          { class: one.share > 0 ? "up" : "down", x: x0 + 9, y: at },
          one.share > 0 ? "▲" : "▼",
        ),
        drawn(
          "text",
          { class: "gate-text", x: x0 + 24, y: at },
          drawn("title", {}, DATA.features[one.feature]),
          shortened(DATA.features[one.feature], Math.floor((GATE_W - 76) / 6.3)),
        ),
        drawn(
          "text",
          { class: "gate-share", x: x0 + GATE_W - 8, y: at, "text-anchor": "end" },
          percent(Math.abs(one.share)),
        ),
      );
    });
    node.children.forEach(draw);
  };
  draw(root);
  const label = `Tree ${tree + 1} of ${TREES.count}. ${routeWords(chances[TREES.depth])}`;
  const figure = sheet(width, height, label, ...ink, ...labels);
  figure.setAttribute("width", width);
  place.replaceChildren(figure);
}

// Which way a route turns, from the root on.
const turns = (leaf) =>
  Array.from({ length: TREES.depth }, (_, v) => ((leaf >> v) & 1 ? "▼" : "▲")).join("");

const ranked = (chances) => Array.from(chances.keys()).sort((a, b) => chances[b] - chances[a]);

// How many routes it takes, the likeliest first, to carry 99 % of the input.
function routesFor99(chances) {
  let [sum, count] = [0, 0];
  for (const leaf of ranked(chances)) {
    if (sum >= 0.99) break;
    sum += chances[leaf];
    count++;
  }
  return count;
}

function routeWords(chances) {
  const count = routesFor99(chances);
  const verb = count === 1 ? "route carries" : "routes carry";
  return `${count} of ${chances.length} ${verb} 99 % of the input.`;
}

// What the tree would decide by itself, beside the decision of all trees.
function aloneWords() {
  const { tree, decision, x } = STATE;
  const alone = routes(x, tree).reduce(
    (sum, p, l) => sum + p * leafDecision(tree, l, decision),
    0,
  );
  const all = decide(x)[decision];
  const [one, together] = [alone, all].map((value) => amount(decision, value));
  return `This tree alone would decide ${one}, all ${TREES.count} together ${together}.`;
}

function setUpTrees() {
  const buttons = byId("tree-buttons");
  if (!buttons || !TREES) return;
  const choose = (tree) => {
    lookAt("tree", (tree + TREES.count) % TREES.count);
    byId(`tree-${STATE.tree}`).focus();
  };
  const keys = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };
  buttons.append(
    ...Array.from({ length: TREES.count }, (_, t) =>
      element(
        "button",
        {
          type: "button",
          id: `tree-${t}`,
          role: "radio",
          "aria-label": `Tree ${t + 1}`,
          onclick: () => choose(t),
        },
        String(t + 1),
      ),
    ),
  );
  buttons.addEventListener("keydown", (event) => {
    const step = keys[event.key];
    const end = { Home: 0, End: TREES.count - 1 }[event.key];
    if (step === undefined && end === undefined) return;
    event.preventDefault();
    choose(end ?? STATE.tree + step);
  });
  watch(() => {
    for (let t = 0; t < TREES.count; t++) {
      const mine = t === STATE.tree;
      byId(`tree-${t}`).setAttribute("aria-checked", String(mine));
      byId(`tree-${t}`).tabIndex = mine ? 0 : -1;
    }
    const moved = STATE.values.some((value, i) => value !== STATE.start.values[i]);
    byId("tree-said").textContent =
      `Shown for ${startName()}${moved ? ", as changed below" : ""}. ` +
      `${routeWords(routes(STATE.x, STATE.tree))} ${aloneWords()}`;
    drawTree(byId("tree"));
  });
}
