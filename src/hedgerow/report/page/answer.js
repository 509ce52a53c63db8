// What would be decided for the current input, how far that is from the starting row, why, and by
// which routes. Decisions follow every move at once; attributions are computed in the next frame,
// or after a short rest if they take long.

const [FEW_DECISIONS, FEW_BARS, PATIENCE, REST] = [10, 10, 24, 150];

const unitOf = (k) => (DATA.outcome_of[k] === null && DATA.decisions.length > 1 ? "" : DATA.unit);

function changeWords(now, before, unit) {
  const by = now - before;
  return Math.abs(by) <= 1e-9 * Math.max(Math.abs(now), Math.abs(before))
    ? `as on ${startName()}`
    : `${withUnit(signed(by), unit)} against ${startName()} (${shown(before)})`;
}

function showDecision() {
  const decisions = decide(STATE.x);
  const k = STATE.decision;
  byId("decision").replaceChildren(
    element(
      "p",
      { class: "what" },
      DATA.decisions[k] === "decision" ? "Decision" : DATA.decisions[k],
    ),
    element(
      "p",
      { class: "big", "data-value": decisions[k] },
      shown(decisions[k]),
      element("span", { class: "unit" }, unitOf(k) ? ` ${unitOf(k)}` : ""),
    ),
    element(
      "p",
      { class: "change" },
      changeWords(decisions[k], STATE.start.decision[k], unitOf(k)),
    ),
  );
  if (decisions.length > 1) showDecisions(decisions);
}

const LIST = { all: false };

// All decisions beside each other, the largest first; a click looks at one more closely.
function showDecisions(decisions) {
  const order = Array.from(decisions.keys()).sort(
    (a, b) => Math.abs(decisions[b]) - Math.abs(decisions[a]),
  );
  const chosen = LIST.all ? order : order.slice(0, FEW_DECISIONS);
  const most = Math.abs(decisions[order[0]]) || 1;
  const rows = chosen.map((k) =>
    element(
      "li",
      { class: k === STATE.decision ? "own" : null },
      element(
        "button",
        {
          type: "button",
          class: "name",
          "aria-pressed": String(k === STATE.decision),
          onclick: () => lookAt("decision", k),
        },
        DATA.decisions[k],
      ),
      track([[0, Math.abs(decisions[k]) / most, decisions[k] < 0 ? "down" : "up"]]),
      element("span", { class: "figure", "data-decision": k }, shown(decisions[k])),
      element("span", { class: "figure quiet" }, signed(decisions[k] - STATE.start.decision[k], 2)),
    ),
  );
  const more = element(
    "button",
    {
      type: "button",
      class: "plain",
      onclick: () => {
        LIST.all = !LIST.all;
        showDecisions(decide(STATE.x));
      },
    },
    LIST.all ? "Show the ten largest" : `Show all ${decisions.length}`,
  );
  byId("decision-list").replaceChildren(
    element("ol", { class: "bars decisions" }, ...rows),
    decisions.length > FEW_DECISIONS ? more : "",
  );
}

// A strip with bars on it; places are shares of its width.
function track(bars, zero = null) {
  const rects = bars.map(([from, to, kind]) =>
    drawn("rect", {
      class: kind,
      x: 100 * Math.min(from, to),
      width: Math.max(100 * Math.abs(to - from), 0.3),
      height: 1,
    }),
  );
  if (zero !== null)
    rects.unshift(drawn("rect", { class: "zero", x: 100 * zero - 0.15, width: 0.3, height: 1 }));
  return drawn(
    "svg",
    { class: "track", viewBox: "0 0 100 1", preserveAspectRatio: "none", "aria-hidden": "true" },
    ...rects,
  );
}

// Features as the reader knows them: a column of text is one thing, however many features it is.
const GROUPS = DATA.inputs.flatMap((input, i) => {
  if (!input.used) return [];
  if (input.kind === "category")
    return [{ features: input.features, name: () => `${input.name}: ${STATE.values[i]}` }];
  return input.features.map((j) => ({
    features: [j],
    name: () => `${DATA.features[j]}: ${shown(STATE.x[j])}`,
  }));
});

const EXPLAINED = { last: null, took: 0, timer: null, all: false };

function showWhy() {
  const k = STATE.decision;
  const began = performance.now();
  const found = attributeOne(STATE.x, k);
  EXPLAINED.took = performance.now() - began;
  EXPLAINED.last = found;
  const parts = GROUPS.map((group) => ({
    name: group.name(),
    value: group.features.reduce((sum, j) => sum + found.values[j], 0),
  })).sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const few = parts.length > FEW_BARS + 1 && !EXPLAINED.all;
  const first = few ? parts.slice(0, FEW_BARS) : [...parts];
  const rest = parts.slice(first.length);
  if (rest.length)
    first.push({
      name: `${rest.length} others together`,
      value: rest.reduce((sum, part) => sum + part.value, 0),
    });
  const steps = [found.baseline];
  for (const part of first) steps.push(steps[steps.length - 1] + part.value);
  const [low, high] = [Math.min(...steps, found.decision), Math.max(...steps, found.decision)];
  const room = 0.04 * (high - low) || 1;
  const place = across(low - room, high + room, 0, 1);
  const line = (name, bars, figure, kind) =>
    element(
      "li",
      { class: kind },
      element("span", { class: "name" }, name),
      track(bars, place(found.baseline)),
      element("span", { class: "figure" }, figure),
    );
  const thin = 0.004;
  const mark = (at) => [[place(at) - thin, place(at) + thin, "end"]];
  const lines = [
    line("Usual decision", mark(found.baseline), shown(found.baseline), "end"),
    ...first.map((part, i) =>
      line(
        part.name,
        [[place(steps[i]), place(steps[i + 1]), part.value < 0 ? "down" : "up"]],
        signed(part.value),
        null,
      ),
    ),
    line("This decision", mark(found.decision), shown(found.decision), "end"),
  ];
  const more = element(
    "button",
    {
      type: "button",
      class: "plain",
      onclick: () => {
        EXPLAINED.all = !EXPLAINED.all;
        showWhy();
      },
    },
    EXPLAINED.all ? "Show the ten largest" : `Show all ${parts.length}`,
  );
  byId("waterfall").replaceChildren(
    element("ol", { class: "bars falls" }, ...lines),
    parts.length > FEW_BARS + 1 ? more : "",
  );
  const gap = Math.abs(found.gap);
  byId("gap").textContent =
    `Each bar is what that input adds to the usual decision, the mean over ${BACKGROUND.length} rows of the data. The bars add up to this decision, up to ${gap < 5e-10 * Math.max(Math.abs(found.decision), 1e-12) ? "rounding" : shown(gap, 2)} (integrated gradients).`;
}

// Explain in the next frame; if that takes long on this machine, wait until the reader rests.
function explainSoon() {
  clearTimeout(EXPLAINED.timer);
  EXPLAINED.timer = setTimeout(showWhy, EXPLAINED.took > PATIENCE ? REST : 0);
}

function showRoutes() {
  if (!(RULE instanceof Forest)) return;
  const chances = routes(STATE.x, STATE.tree);
  const unit = UNITS.decision[STATE.decision];
  const lines = ranked(chances)
    .slice(0, 4)
    .map((leaf) =>
      element(
        "li",
        {},
        element(
          "span",
          { class: "name" },
          `${turns(leaf)} to ${shown(RULE.leaf(STATE.tree, leaf, STATE.decision) * unit)}`,
        ),
        track([[0, chances[leaf], "up"]]),
        element("span", { class: "figure" }, percent(chances[leaf])),
      ),
    );
  byId("routes").replaceChildren(
    element(
      "p",
      {},
      `Tree ${STATE.tree + 1} of ${RULE.trees}, chosen `,
      element("a", { href: "#trees" }, "above"),
      `: ${routeWords(chances)}`,
    ),
    element("ol", { class: "bars" }, ...lines),
    element(
      "p",
      { class: "caption" },
      "▲ and ▼: the turns taken from the first question on, and the decision at their end.",
    ),
  );
}

function setUpAnswer() {
  if (!(RULE instanceof Forest)) byId("routes-card").remove();
  watch((what) => {
    if (what === "tree") return showRoutes();
    showDecision();
    showRoutes();
    return explainSoon();
  });
}
