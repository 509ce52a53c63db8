// What would be decided for the current input, how far that is from the starting row, why, and by
// which routes. Decisions follow every move at once; attributions are computed in the next frame,
// or after a short rest if they take long.

const [FEW_DECISIONS, FEW_BARS, PATIENCE, REST] = [10, 10, 24, 150];

const unitOf = (k) => (DATA.shares[k] ? "" : DATA.unit);

function changeWords(k, now, before) {
  const by = now - before;
  if (Math.abs(by) <= 1e-9 * Math.max(Math.abs(now), Math.abs(before)))
    return `as on ${startName()}`;
  const words = DATA.shares[k]
    ? `${signed(100 * by)} percentage points`
    : withUnit(signed(by), unitOf(k));
  return `${words} against ${startName()} (${amount(k, before)})`;
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
      amount(k, decisions[k]),
      element("span", { class: "unit" }, unitOf(k) ? ` ${unitOf(k)}` : ""),
    ),
    element("p", { class: "change" }, changeWords(k, decisions[k], STATE.start.decision[k])),
  );
  if (decisions.length > 1) keepingFocus(() => showDecisions(decisions));
}

// How bad this decision can turn out: computed before for some rows, so known where one is as it is.
function showToday() {
  const place = byId("today");
  const { trouble, rows, usual, worst } = DATA.today;
  const row = STATE.start.row;
  const untouched = row !== null && STATE.values.every((v, i) => v === STATE.start.values[i]);
  const k = untouched && rows ? rows.indexOf(row.number) : -1;
  let text = trouble;
  if (k >= 0)
    text =
      `It may cost ${withUnit(shown(usual[k], 3), DATA.loss_unit)} on average, ` +
      `${withUnit(shown(worst[k], 3), DATA.loss_unit)} at worst within the hedge.`;
  else if (rows && !untouched)
    text = `Computed for the ${DATA.noun}s of the data as they are, not for changed inputs.`;
  else if (rows)
    text = `Not computed for this ${DATA.noun}: the nearest that was is ${DATA.noun} ${shown(nearest(rows, row.number), 9)}.`;
  place.textContent = text;
  place.dataset.known = String(k >= 0);
}

const nearest = (numbers, wanted) =>
  numbers.reduce((best, n) => (Math.abs(n - wanted) < Math.abs(best - wanted) ? n : best));

const LIST = { all: false };

// All decisions beside each other, the largest first, shares before everything else; a click looks
// at one more closely.
function showDecisions(decisions) {
  const order = Array.from(decisions.keys()).sort(
    (a, b) => DATA.shares[b] - DATA.shares[a] || Math.abs(decisions[b]) - Math.abs(decisions[a]),
  );
  const chosen = LIST.all ? order : order.slice(0, FEW_DECISIONS);
  const alike = (k) => decisions.filter((_, other) => DATA.shares[other] === DATA.shares[k]);
  const most = (k) => alike(k).reduce((a, z) => Math.max(a, Math.abs(z)), 1e-300);
  const rows = chosen.map((k) =>
    element(
      "li",
      { class: k === STATE.decision ? "own" : null },
      element(
        "button",
        {
          type: "button",
          id: `decision-${k}`,
          class: "name",
          "aria-pressed": String(k === STATE.decision),
          onclick: () => lookAt("decision", k),
        },
        DATA.decisions[k],
      ),
      track([[0, Math.abs(decisions[k]) / most(k), decisions[k] < 0 ? "less" : ""]]),
      element("span", { class: "figure", "data-decision": k }, amount(k, decisions[k])),
      element(
        "span",
        { class: "figure quiet" },
        amountChange(k, decisions[k] - STATE.start.decision[k], 2),
      ),
    ),
  );
  const more = element(
    "button",
    {
      type: "button",
      id: "more-decisions",
      class: "plain",
      onclick: () => {
        LIST.all = !LIST.all;
        keepingFocus(() => showDecisions(decide(STATE.x)));
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

const EXPLAINED = { took: 0, timer: null, all: false };

function showWhy() {
  const k = STATE.decision;
  const began = performance.now();
  const found = attributeOne(STATE.x, k);
  EXPLAINED.took = performance.now() - began;
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
    line("Usual decision", mark(found.baseline), amount(k, found.baseline), "end"),
    ...first.map((part, i) =>
      line(
        part.name,
        [[place(steps[i]), place(steps[i + 1]), part.value < 0 ? "less" : "more"]],
        amountChange(k, part.value),
        null,
      ),
    ),
    line("This decision", mark(found.decision), amount(k, found.decision), "end"),
  ];
  const more = element(
    "button",
    {
      type: "button",
      id: "more-reasons",
      class: "plain",
      onclick: () => {
        EXPLAINED.all = !EXPLAINED.all;
        keepingFocus(showWhy);
      },
    },
    EXPLAINED.all ? "Show the ten largest" : `Show all ${parts.length}`,
  );
  byId("waterfall").replaceChildren(
    element("ol", { class: "bars falls" }, ...lines),
    parts.length > FEW_BARS + 1 ? more : "",
  );
  const gap = Math.abs(found.gap);
  const exact = gap < 5e-10 * Math.max(Math.abs(found.decision), 1e-12);
  byId("gap").textContent =
    `Each bar is what that input adds to the usual decision, the mean over ${BACKGROUND.length} ` +
    `rows of the data. The bars add up to this decision; the gap that is left is ` +
    `${gap.toExponential(0).replace("-", "−")}${exact ? ", rounding" : ""} (expected integrated gradients).`;
}

// Explain in the next frame; if that takes long on this machine, wait until the reader rests.
function explainSoon() {
  clearTimeout(EXPLAINED.timer);
  EXPLAINED.timer = setTimeout(() => keepingFocus(showWhy), EXPLAINED.took > PATIENCE ? REST : 0);
}

function showRoutes() {
  if (!TREES) return;
  const chances = routes(STATE.x, STATE.tree);
  const k = STATE.decision;
  const lines = ranked(chances)
    .slice(0, 4)
    .map((leaf) =>
      element(
        "li",
        {},
        element(
          "span",
          { class: "name" },
          `${turns(leaf)} to ${amount(k, leafDecision(STATE.tree, leaf, k))}`,
        ),
        track([[0, chances[leaf], ""]]),
        element("span", { class: "figure" }, percent(chances[leaf])),
      ),
    );
  byId("routes").replaceChildren(
    element(
      "p",
      {},
      `Tree ${STATE.tree + 1} of ${TREES.count}, chosen `,
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
  if (!TREES) byId("routes-card").remove();
  watch((what) => {
    if (what === "tree") return showRoutes();
    showDecision();
    showToday();
    showRoutes();
    return explainSoon();
  });
}
