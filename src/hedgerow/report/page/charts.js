// Charts as inline SVG, drawn as wide as their place is, so that letters keep their size on a
// phone. Colours come from the style sheet by class: they follow light, dark and print.

const AXIS = 26;
const PAPER = { across: null }; // pixels that a printed chart is drawn across, while printing

const widthOf = (place, share = 1) =>
  PAPER.across ? Math.floor(PAPER.across * share) : place.clientWidth;

function across(low, high, from, to) {
  const span = high - low || 1;
  return (value) => from + ((value - low) / span) * (to - from);
}

// Grid lines with their numbers along the bottom.
function bottomAxis(scale, low, high, top, bottom, count) {
  return ticks(low, high, count).flatMap((tick) => [
    drawn("line", { class: "grid", x1: scale(tick), x2: scale(tick), y1: top, y2: bottom }),
    drawn(
      "text",
      { class: "tick", x: scale(tick), y: bottom + 17, "text-anchor": "middle" },
      shown(tick),
    ),
  ]);
}

// One line per thing: a dot, its interval, its name and its number.
function dotChart(place, items, label) {
  const width = Math.max(widthOf(place), 260);
  const narrow = width < 620;
  const ends = items.flatMap((item) => [item.mean, ...(item.ends ?? [])]).filter(Number.isFinite);
  let [low, high] = [Math.min(...ends), Math.max(...ends)];
  if (low > 0 && low < 0.6 * high) low = 0; // near enough to show the whole of it
  const room = 0.04 * (high - low || 1);
  [low, high] = [low === 0 ? 0 : low - room, high + room];
  const [left, right] = [narrow ? 8 : 250, width - 64];
  const pitch = narrow ? 44 : 34;
  const bottom = items.length * pitch + 6;
  const scale = across(low, high, left, right);
  const marks = items.flatMap((item, i) => {
    const y = i * pitch + (narrow ? 32 : 20);
    const parts = [
      drawn(
        "text",
        {
          class: `label ${item.kind}`,
          x: narrow ? left : left - 14,
          y: narrow ? y - 14 : y + 4,
          "text-anchor": narrow ? "start" : "end",
        },
        shortened(item.name, narrow ? 42 : 34),
      ),
      drawn(
        "text",
        { class: `number ${item.kind}`, x: width, y: y + 4, "text-anchor": "end" },
        shown(item.mean),
      ),
    ];
    if (!Number.isFinite(item.mean)) return parts;
    const [from, to] = item.ends ?? [item.mean, item.mean];
    parts.push(
      drawn("line", { class: `span ${item.kind}`, x1: scale(from), x2: scale(to), y1: y, y2: y }),
    );
    parts.push(drawn("circle", { class: `dot ${item.kind}`, cx: scale(item.mean), cy: y, r: 6 }));
    return parts;
  });
  const axis = bottomAxis(scale, low, high, 4, bottom, narrow ? 4 : 6);
  place.replaceChildren(sheet(width, bottom + AXIS, label, ...axis, ...marks));
}

// Decisions and outcomes over the rows of the data, along their dates where they have any; a click
// begins the what-if there.
function rowChart(place, rows, series, current, choose) {
  const width = Math.max(widthOf(place), 260);
  const height = width < 620 ? 240 : 290;
  const [left, right, top, bottom] = [46, width - 10, 28, height - AXIS];
  const values = [...series.decision, ...(series.outcome ?? [])];
  let low = values.reduce((a, b) => Math.min(a, b), Infinity);
  let high = values.reduce((a, b) => Math.max(a, b), -Infinity);
  if (low > 0 && low < 0.5 * high) low = 0;
  if (high === low) high = low + (Math.abs(low) || 1);
  high += 0.03 * (high - low);
  const days = rows.map((row) => row.day);
  const [first, last] = [days[0], days[days.length - 1]];
  const along = across(first, last, left + 6, right - 6);
  const up = across(low, high, bottom, top);
  const ink = ticks(low, high, 5).flatMap((tick) => [
    drawn("line", { class: "grid", x1: left, x2: right, y1: up(tick), y2: up(tick) }),
    drawn(
      "text",
      { class: "tick", x: left - 8, y: up(tick) + 4, "text-anchor": "end" },
      `${shown(tick)}${series.unit}`,
    ),
  ]);
  for (const { at, label } of dateTicks(first, last, width < 620 ? 4 : 8)) {
    if (!DATA.dated && !Number.isInteger(at)) continue;
    ink.push(
      drawn("text", { class: "tick", x: along(at), y: bottom + 17, "text-anchor": "middle" }, label),
    );
  }
  const here = rows.indexOf(current);
  if (here >= 0) {
    const x = along(current.day);
    ink.push(drawn("line", { class: "here", x1: x, x2: x, y1: top, y2: bottom }));
  }
  if (series.outcome) {
    const r = rows.length > 600 ? 1.6 : rows.length > 150 ? 2.4 : 3.2;
    rows.forEach((row, i) =>
      ink.push(
        drawn("circle", {
          class: "outcome",
          cx: along(row.day).toFixed(1),
          cy: up(series.outcome[i]).toFixed(1),
          r,
        }),
      ),
    );
  }
  const line = rows.map(
    (row, i) => `${i ? "L" : "M"}${along(row.day).toFixed(1)} ${up(series.decision[i]).toFixed(1)}`,
  );
  ink.push(drawn("path", { class: "decision-line", d: line.join("") }));
  if (here >= 0)
    ink.push(
      drawn("circle", {
        class: "dot policy",
        cx: along(current.day),
        cy: up(series.decision[here]),
        r: 5,
      }),
    );
  ink.push(drawn("line", { class: "decision-line", x1: left, x2: left + 22, y1: 12, y2: 12 }));
  ink.push(drawn("text", { class: "label", x: left + 28, y: 16 }, "decision"));
  if (series.outcome) {
    ink.push(drawn("circle", { class: "outcome", cx: left + 112, cy: 12, r: 3.2 }));
    ink.push(drawn("text", { class: "label", x: left + 122, y: 16 }, "what then happened"));
  }
  const figure = sheet(
    width,
    height,
    `Decisions${series.outcome ? " and outcomes" : ""} over ${rows.length} rows`,
    ...ink,
  );
  if (choose) {
    figure.classList.add("clickable");
    figure.addEventListener("click", (event) => {
      const box = figure.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * width;
      const nearest = rows.reduce(
        (best, row) => (Math.abs(along(row.day) - x) < Math.abs(along(best.day) - x) ? row : best),
        rows[0],
      );
      choose(nearest.number);
    });
  }
  place.replaceChildren(figure);
}

// Data as grey columns, the worst case as a line over them; of few values, one column for each.
function histogram(panel, width) {
  const height = 150;
  const [left, right, top, bottom] = [6, width - 6, 8, height - AXIS];
  const edges = panel.edges ?? [...panel.values.keys(), panel.values.length];
  const [low, high] = [edges[0], edges[edges.length - 1]];
  const scale = across(low, high, left, right);
  const most = Math.max(...panel.data, ...panel.worst);
  const up = across(0, most * 1.05, bottom, top);
  const ink = [];
  panel.data.forEach((share, i) => {
    const x = scale(edges[i]);
    ink.push(
      drawn("rect", {
        class: "column",
        x: x + 0.5,
        width: Math.max(scale(edges[i + 1]) - x - 1, 0.5),
        y: up(share),
        height: bottom - up(share),
      }),
    );
  });
  let path = `M${scale(low)} ${bottom}`;
  panel.worst.forEach(
    (share, i) => (path += `L${scale(edges[i])} ${up(share)}L${scale(edges[i + 1])} ${up(share)}`),
  );
  ink.push(drawn("path", { class: "worst", d: `${path}L${scale(high)} ${bottom}` }));
  ink.push(drawn("line", { class: "base", x1: left, x2: right, y1: bottom, y2: bottom }));
  const letters = Math.floor((right - left) / edges.length / 7);
  const marks = panel.values
    ? panel.values.map((value, i) => [i + 0.5, shortened(value, Math.max(letters, 2))])
    : ticks(low, high, 4).map((tick) => [tick, shown(tick, 3)]);
  for (const [place, text] of marks) {
    const x = Math.min(Math.max(scale(place), 10), width - 14);
    ink.push(drawn("text", { class: "tick", x, y: bottom + 17, "text-anchor": "middle" }, text));
  }
  return sheet(
    width,
    height,
    `Histogram of ${panel.name}: rows of the data and worst case`,
    ...ink,
  );
}

// Shares of the values that change most, from the data to the worst case.
function changes(panel) {
  const change = (i) => Math.abs(panel.worst[i] - panel.data[i]);
  const order = [...panel.values.keys()].sort((i, j) => change(j) - change(i)).slice(0, 3);
  return order
    .map((i) => `${panel.values[i]}: ${percent(panel.data[i])} → ${percent(panel.worst[i])}`)
    .join(", ");
}

const pair = (values) => values.map((value) => shown(value, 3)).join(" → ");

function worstPanels(place, panels) {
  if (!panels.length) return;
  const key = element(
    "p",
    { class: "key" },
    element("span", {}, element("span", { class: "swatch data" }), `${DATA.noun}s of this report`),
    element("span", {}, element("span", { class: "swatch worst" }), "worst world nearby"),
  );
  const drawings = panels.map((panel) => {
    const figure = element(
      "figure",
      {},
      element("figcaption", {}, element("strong", {}, panel.name), ` ${panel.kind}`),
    );
    return { panel, figure };
  });
  place.replaceChildren(key, ...drawings.map((one) => one.figure));
  for (const { panel, figure } of drawings) {
    figure.append(
      histogram(panel, Math.max(widthOf(figure, 0.3), 180)),
      element(
        "p",
        { class: "caption" },
        panel.values
          ? changes(panel)
          : `mean ${pair(panel.means)}, spread ${pair(panel.spreads)}`,
      ),
    );
  }
}
