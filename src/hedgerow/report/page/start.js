// Set everything up, draw the charts, and offer the computations to whoever asks:
// window.hedgerow = { decide(x), attribute(x), routes(x, tree), encode(values), … }.

const ALONG = [...ROWS].sort((a, b) => a.day - b.day); // in the order of their dates, or numbers
const ROW_DECISIONS = ALONG.map((row) => row.decision ?? decide(row.context));

function drawRows() {
  const k = STATE.decision;
  const of = DATA.outcome_of[k];
  const scale = DATA.shares[k] ? 100 : 1;
  const series = {
    unit: DATA.shares[k] ? " %" : "",
    decision: ROW_DECISIONS.map((z) => scale * z[k]),
    outcome: of === null ? null : ALONG.map((row) => row.outcome[of]),
  };
  const choose = RULE ? beginRow : null;
  rowChart(byId("row-chart"), ALONG, series, STATE.start.row, choose);
  const some =
    ROWS.length < DATA.rows.total
      ? `${shown(ROWS.length, 9)} of ${shown(DATA.rows.total, 9)} ${DATA.noun}s, evenly spaced`
      : `all ${shown(ROWS.length, 9)} ${DATA.noun}s`;
  const what = DATA.decisions[k] === "decision" ? "The decision" : DATA.decisions[k];
  byId("row-caption").textContent =
    `${withUnit(what, unitOf(k) ? `in ${unitOf(k)}` : "")}, ${some}${DATA.dated ? "" : ", in the order of the table"}.` +
    (RULE ? " Click one to look at it in the what-if panel." : "");
}

function drawCharts() {
  const per = DATA.loss_unit ? ` in ${DATA.loss_unit}` : "";
  dotChart(
    byId("cost-chart"),
    DATA.costs,
    `Average cost of a ${DATA.noun}${per}: ${DATA.costs.map((c) => `${c.name} ${shown(c.mean)}`).join(", ")}`,
  );
  if (DATA.values.length > 1)
    dotChart(
      byId("value-chart"),
      DATA.values,
      DATA.values.map((v) => `${v.name} ${shown(v.mean)}`).join(", "),
    );
  worstPanels(byId("panels"), DATA.panels);
  drawRows();
  if (TREES) drawTree(byId("tree"));
}

// Where there are several decisions, a choice of the one that charts and explanations are about.
function setUpDecisionChoices() {
  if (DATA.decisions.length < 2) return;
  for (const place of document.querySelectorAll("[data-decision-choice]")) {
    const choice = element(
      "select",
      { "aria-label": "Decision to look at" },
      ...DATA.decisions.map((name, k) => element("option", { value: k }, name)),
    );
    choice.addEventListener("change", () => lookAt("decision", Number(choice.value)));
    watch(() => (choice.value = STATE.decision));
    place.append(choice);
  }
}

function setUp() {
  setUpFrame();
  setUpDecisionChoices();
  if (RULE) {
    setUpControls();
    setUpStarts();
    setUpTrees();
    setUpAnswer();
  }
  watch((what) => {
    if (what === "start" || what === "decision") drawRows();
  });
  STATE.decision = Math.max(DATA.shares.indexOf(true), 0); // of a portfolio a weight, not the level
  if (RULE) beginRow(DATA.start);
  setUpDrawing(drawCharts);
}

window.hedgerow = {
  decide: (x) => Array.from(decide(Float64Array.from(x))),
  attribute: (x, decisions) => attribute(Float64Array.from(x), decisions),
  routes: (x, tree) => Array.from(routes(Float64Array.from(x), tree)),
  encode: (values) => Array.from(encode(values)),
  row: (number) => Array.from(ROWS.find((row) => row.number === number).context),
  background: () => BACKGROUND.map((x) => Array.from(x)),
  state: () => ({
    x: Array.from(STATE.x),
    values: [...STATE.values],
    row: STATE.start.row?.number ?? null,
    tree: STATE.tree,
    decision: STATE.decision,
  }),
  beginRow,
  beginTypical,
};

setUp();
