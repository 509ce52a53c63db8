// All series: a picture of them, and a table to sort and to search. Only some rows are in the page
// at a time, so that thousands of series stay quick.

const SERIES = allUnpacked(DATA.series);
const STEPS = allUnpacked(DATA.steps);
const AT_ONCE = 50;
const BY_NAME = new Intl.Collator(undefined, { numeric: true }); // once: thousands are compared
const VIEW = { reference: 0, sort: null, down: true, find: "", status: "", most: AT_ONCE };
const compared = DATA.ways.length > 1;
const money = DATA.loss_unit ? ` in ${DATA.loss_unit}` : "";
const reference = () => DATA.ways[VIEW.reference + 1].name;
const gapOf = (i) => SERIES.own[VIEW.reference][i] - SERIES.other[VIEW.reference][i];
const relativeOf = (i) =>
  SERIES.other[VIEW.reference][i] > 0 ? gapOf(i) / SERIES.other[VIEW.reference][i] : NaN;

const signedPercent = (share) =>
  Number.isFinite(share)
    ? share === 0
      ? "0 %"
      : `${share < 0 ? "−" : "+"}${percent(Math.abs(share))}`
    : "–";
const anyPercent = (share) => (Number.isFinite(share) ? percent(share) : "–");

// id, heading, value to sort by, text to show, class of the cell
const COLUMNS = [
  { id: "name", head: () => SERIES.by, value: (i) => SERIES.names[i] },
  { id: "status", head: () => "Status", value: (i) => SERIES.statuses[SERIES.status[i]] },
  { id: "rows", head: () => "Rows", value: (i) => SERIES.rows[i], show: (v) => shown(v, 9) },
  { id: "cost", head: () => `Cost${money}`, value: (i) => SERIES.cost[i], show: (v) => shown(v) },
  {
    id: "share",
    head: () => "Share of cost",
    value: (i) => SERIES.cost[i] / SERIES.total,
    show: anyPercent,
  },
];
if (compared)
  COLUMNS.push(
    {
      id: "relative",
      head: () => `Against ${reference()}`,
      value: relativeOf,
      show: signedPercent,
      coloured: true,
    },
    {
      id: "gap",
      head: () => `Costs more by${money}`,
      value: gapOf,
      show: (v) => signed(v, 3),
      coloured: true,
    },
  );
for (const [id, head, show] of [
  ["fill_rate", "Fill rate", anyPercent],
  ["service_level", "Service level", anyPercent],
  ["waste", DATA.unit ? `Left over in ${DATA.unit}` : "Left over", (v) => shown(v, 3)],
  ["stockouts", `Stock-out ${DATA.row_noun}s`, (v) => shown(v, 9)],
])
  if (SERIES.service[id])
    COLUMNS.push({ id, head: () => head, value: (i) => SERIES.service[id][i], show });
VIEW.sort = compared ? "relative" : "cost";

function chosenSeries() {
  const wanted = VIEW.find.trim().toLowerCase();
  const column = COLUMNS.find((one) => one.id === VIEW.sort);
  const found = SERIES.names
    .map((_, i) => i)
    .filter(
      (i) =>
        (!wanted || SERIES.names[i].toLowerCase().includes(wanted)) &&
        (!VIEW.status || SERIES.statuses[SERIES.status[i]] === VIEW.status),
    );
  const sign = VIEW.down ? -1 : 1;
  const text = typeof column.value(0) === "string";
  const order = text
    ? (a, b) => sign * BY_NAME.compare(column.value(a), column.value(b))
    : (a, b) => {
        const [one, other] = [column.value(a), column.value(b)];
        if (!Number.isFinite(one) || !Number.isFinite(other))
          return Number.isFinite(other) - Number.isFinite(one); // what is not known comes last
        return sign * (one - other);
      };
  return found.sort(order);
}

function seriesName(i) {
  const detail = SERIES.detail[i];
  if (detail === undefined) return SERIES.names[i];
  const open = () => (byId(`series-${detail}`).open = true);
  return element("a", { href: `#series-${detail}`, onclick: open }, SERIES.names[i]);
}

function seriesCell(column, i) {
  if (column.id === "name") return element("th", { scope: "row" }, seriesName(i));
  const value = column.value(i);
  if (column.id === "status") return element("td", { class: "status" }, value);
  const side = column.coloured && value > 0 ? "more" : column.coloured && value < 0 ? "less" : null;
  return element("td", { class: side }, column.show(value));
}

function drawTable() {
  const found = chosenSeries();
  byId("series-head").replaceChildren(
    ...COLUMNS.map((column) =>
      element(
        "th",
        {
          scope: "col",
          "aria-sort":
            column.id === VIEW.sort ? (VIEW.down ? "descending" : "ascending") : null,
        },
        element(
          "button",
          { type: "button", id: `by-${column.id}`, onclick: () => sortBy(column.id) },
          column.head(),
        ),
      ),
    ),
  );
  byId("series-rows").replaceChildren(
    ...found
      .slice(0, VIEW.most)
      .map((i) => element("tr", {}, ...COLUMNS.map((column) => seriesCell(column, i)))),
  );
  const there = Math.min(VIEW.most, found.length);
  byId("more").hidden = there === found.length;
  byId("series-said").textContent = found.length
    ? `${shown(there, 9)} of ${shown(found.length, 9)} series`
    : "No series is called so.";
}

function sortBy(id) {
  VIEW.down = VIEW.sort === id ? !VIEW.down : id !== "name" && id !== "status";
  VIEW.sort = id;
  VIEW.most = AT_ONCE;
  keepingFocus(drawTable);
}

// Every series as wide as its share of the baseline's cost and as high as it is dearer or cheaper:
// the area is the difference of the totals.
function drawSteps() {
  const [place, said] = [byId("step-chart"), byId("step-said")];
  if (!compared) return;
  const steps = STEPS[VIEW.reference];
  const count = steps.relative.length;
  if (!count) {
    place.replaceChildren();
    said.textContent = `${reference()} costs nothing: there is nothing to compare with.`;
    return;
  }
  const width = Math.max(widthOf(place), 260);
  const height = width < NARROW ? 200 : 240;
  let high = Math.max(0.05, ...steps.relative);
  const low = Math.min(-0.05, ...steps.relative);
  const cut = Math.max(1, -3 * low); // one series that is ten times as dear must not hide the others
  high = Math.min(high, cut) * 1.04;
  const labels = ticks(low, high, 5);
  const [left, right, top, bottom] = [58, width - 8, 8, height - AXIS];
  const along = across(0, 1, left, right);
  const up = across(low, high, bottom, top);
  const ink = labels.flatMap((tick) => [
    drawn("line", { class: "grid", x1: left, x2: right, y1: up(tick), y2: up(tick) }),
    drawn(
      "text",
      { class: "tick", x: left - 8, y: up(tick) + 4, "text-anchor": "end" },
      signedPercent(tick),
    ),
  ]);
  for (const share of [0, 0.25, 0.5, 0.75, 1])
    ink.push(
      drawn(
        "text",
        {
          class: "tick",
          x: along(share),
          y: bottom + 17,
          "text-anchor": share === 0 ? "start" : share === 1 ? "end" : "middle",
        },
        percent(share),
      ),
    );
  let from = 0;
  steps.relative.forEach((relative, k) => {
    const to = steps.ends[k];
    const y = up(Math.min(Math.max(relative, low), high));
    const gap = along(to) - along(from) > 3 ? 0.6 : 0;
    ink.push(
      drawn("rect", {
        class: `step ${relative > 0 ? "more" : "less"}`,
        x: along(from).toFixed(2),
        width: Math.max(along(to) - along(from) - gap, 0.2).toFixed(2),
        y: Math.min(y, up(0)).toFixed(2),
        height: Math.abs(up(0) - y).toFixed(2),
      }),
    );
    from = to;
  });
  ink.push(drawn("line", { class: "base", x1: left, x2: right, y1: up(0), y2: up(0) }));
  const caption =
    `Cost against ${reference()}: higher in ${shown(steps.worse, 9)} series, lower in ` +
    `${shown(steps.better, 9)} of ${shown(steps.count, 9)}. Each is as wide as its share of that ` +
    "cost, so areas are money. Point at one for its name.";
  const label = `Cost of each series relative to ${reference()}, sorted`;
  const figure = sheet(width, height, label, ...ink);
  const at = (event) => {
    const box = figure.getBoundingClientRect();
    const share = (((event.clientX - box.left) / box.width) * width - left) / (right - left);
    const k = steps.ends.findIndex((end) => share <= end);
    return k < 0 ? count - 1 : k;
  };
  figure.addEventListener("pointermove", (event) => {
    const k = at(event);
    const name = steps.series[k] < 0 ? "several series" : SERIES.names[steps.series[k]];
    said.textContent = `${name}: ${signedPercent(steps.relative[k])} against ${reference()}`;
  });
  figure.addEventListener("pointerleave", () => (said.textContent = caption));
  figure.addEventListener("click", (event) => {
    const i = steps.series[at(event)];
    if (i < 0) return;
    byId("find").value = SERIES.names[i];
    byId("find").dispatchEvent(new Event("input"));
  });
  said.textContent = caption;
  place.replaceChildren(figure);
}

function setUpSeries() {
  const choice = byId("reference");
  byId("reference-field").hidden = DATA.ways.length < 3;
  choice.append(
    ...DATA.ways.slice(1).map((way, k) => element("option", { value: k }, way.name)),
  );
  choice.addEventListener("change", () => {
    VIEW.reference = Number(choice.value);
    drawTable();
    drawSteps();
  });
  byId("status").append(
    ...SERIES.statuses.map((status) => element("option", { value: status }, status)),
  );
  const fields = [
    ["find", "input"],
    ["status", "change"],
  ];
  for (const [id, event] of fields)
    byId(id).addEventListener(event, () => {
      VIEW[id] = byId(id).value;
      VIEW.most = AT_ONCE;
      drawTable();
    });
  byId("more").addEventListener("click", () => {
    VIEW.most += 4 * AT_ONCE;
    drawTable();
  });
  drawTable();
}
