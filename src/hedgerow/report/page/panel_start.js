// Set the page of a panel up and draw its charts; window.hedgerow.view() tells what the table shows.

const DETAILS = allUnpacked(DATA.details);
const PERIODS = allUnpacked(DATA.periods);
const everyWay = DATA.ways.map((_, k) => k);

function drawPeriods() {
  const place = byId("period-chart");
  const lines = everyWay.map((k) => ({ way: k, values: PERIODS.means[k] }));
  const label = `Cost of a ${DATA.date_noun} by ${PERIODS.word}: ${DATA.ways.map((way) => way.name).join(", ")}`;
  const caption =
    `What all series together cost${money} a ${DATA.date_noun}, mean by ${PERIODS.word}. Where a way cannot decide yet, ` +
    "this policy’s own cost stands in for it.";
  const chart = { x: PERIODS.starts, lines, label, caption };
  lineChart(place, byId("period-chart-said"), chart, wayKey(everyWay));
}

function drawDetail(k) {
  const one = DETAILS[k];
  const some = compared ? [0, 1] : [0];
  const lines = some.map((way) => ({ way, values: one.orders[way] }));
  const out = Array.from(one.demand, (y, i) => (y > one.orders[0][i] ? i : -1));
  const marks = SERIES.service.stockouts ? out.filter((i) => i >= 0) : null;
  const unit = DATA.unit ? ` in ${DATA.unit}` : "";
  const caption = `Orders and what then happened${unit}.`;
  const label = `Orders and ${DATA.outcome} of ${one.name}`;
  lineChart(
    byId(`orders-${k}`),
    byId(`orders-${k}-said`),
    { x: one.x, lines, dots: one.demand, marks, label, caption },
    wayKey(some, [demandKey(), marks ? outKey() : null]),
  );
  lineChart(
    byId(`sums-${k}`),
    byId(`sums-${k}-said`),
    {
      x: one.x,
      lines: everyWay.map((way) => ({ way, values: one.sums[way] })),
      label: `Cumulated cost of ${one.name}`,
      caption: `Cumulated cost${money}; the lower the better.`,
    },
    wayKey(everyWay),
  );
}

function drawCharts() {
  drawPeriods();
  drawSteps();
  DETAILS.forEach((_, k) => {
    if (byId(`series-${k}`).open) drawDetail(k);
  });
}

setUpFrame();
setUpSeries();
DETAILS.forEach((_, k) =>
  byId(`series-${k}`).addEventListener("toggle", () => {
    if (byId(`series-${k}`).open) drawDetail(k);
  }),
);
setUpDrawing(drawCharts);

window.hedgerow = {
  view: () => ({ ...VIEW, series: chosenSeries().map((i) => SERIES.names[i]) }),
  series: (name) => {
    const i = SERIES.names.indexOf(name);
    return Object.fromEntries(COLUMNS.map((column) => [column.id, column.value(i)]));
  },
};
