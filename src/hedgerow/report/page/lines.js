// Lines over time: some lines, dots and marks, and what they are where one points.

const NARROW = 620;

// Classes of the ways: the policy, what people do, references; of each kind the second looks else.
const WAY_CLASSES = DATA.ways.map((way, k) => {
  const nth = DATA.ways.slice(0, k).filter((other) => other.kind === way.kind).length;
  return `way ${way.kind}${nth % 2 ? " second" : ""}`;
});

function wayKey(which, further = []) {
  const line = (name) =>
    drawn(
      "svg",
      { class: "line", viewBox: "0 0 26 12", "aria-hidden": "true" },
      drawn("line", { class: name, x1: 0, x2: 26, y1: 6, y2: 6 }),
    );
  return element(
    "p",
    { class: "key" },
    ...which.map((k) => element("span", {}, line(WAY_CLASSES[k]), DATA.ways[k].name)),
    ...further,
  );
}

const demandKey = () =>
  element(
    "span",
    {},
    drawn(
      "svg",
      { class: "line", viewBox: "0 0 26 12", "aria-hidden": "true" },
      drawn("circle", { class: "demand", cx: 13, cy: 6, r: 3.2 }),
    ),
    DATA.outcome,
  );

const outKey = () =>
  element(
    "span",
    {},
    drawn(
      "svg",
      { class: "line", viewBox: "0 0 26 12", "aria-hidden": "true" },
      ...[9, 13, 17].map((x) => drawn("line", { class: "out", x1: x, x2: x, y1: 2, y2: 10 })),
    ),
    "stock ran out",
  );

function path(x, y, along, up) {
  let text = "";
  let pen = false; // a line is broken where a number is missing
  for (let i = 0; i < x.length; i++) {
    if (!Number.isFinite(y[i])) pen = false;
    else {
      text += `${pen ? "L" : "M"}${along(x[i]).toFixed(1)} ${up(y[i]).toFixed(1)}`;
      pen = true;
    }
  }
  return text;
}

// chart: { x, lines: [{ way, values }], dots, marks, label, unit }; `said` is told what one points at.
function lineChart(place, said, chart, key) {
  const width = Math.max(widthOf(place), 260);
  const height = width < NARROW ? 210 : 270;
  const { x, lines } = chart;
  const all = [...lines.map((line) => line.values), ...(chart.dots ? [chart.dots] : [])];
  let [low, high] = [Infinity, -Infinity];
  for (const values of all)
    for (const value of values)
      if (Number.isFinite(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (low > 0) low = 0;
  if (!(high > low)) high = low + (Math.abs(low) || 1);
  high += 0.04 * (high - low);
  const labels = ticks(low, high, 5);
  const left = 12 + 7 * Math.max(...labels.map((tick) => shown(tick).length));
  const [right, top, bottom] = [width - 8, 8, height - AXIS - (chart.marks ? 12 : 0)];
  const [first, last] = [x[0], x[x.length - 1]];
  const along = across(first, last, left + 4, right - 4);
  const up = across(low, high, bottom, top);
  const ink = labels.flatMap((tick) => [
    drawn("line", { class: "grid", x1: left, x2: right, y1: up(tick), y2: up(tick) }),
    drawn(
      "text",
      { class: "tick", x: left - 8, y: up(tick) + 4, "text-anchor": "end" },
      shown(tick),
    ),
  ]);
  for (const { at, label } of dateTicks(first, last, Math.max(Math.floor(width / 105), 2)))
    ink.push(
      drawn("line", { class: "grid", x1: along(at), x2: along(at), y1: top, y2: bottom }),
      drawn(
        "text",
        {
          class: "tick",
          x: Math.min(Math.max(along(at), left + 10), right - 24),
          y: height - AXIS + 17,
          "text-anchor": "middle",
        },
        label,
      ),
    );
  if (chart.dots) {
    const r = x.length > 600 ? 1.6 : x.length > 150 ? 2.2 : 3;
    chart.dots.forEach((value, i) =>
      ink.push(
        drawn("circle", {
          class: "demand",
          cx: along(x[i]).toFixed(1),
          cy: up(value).toFixed(1),
          r,
        }),
      ),
    );
  }
  if (chart.marks) {
    const d = chart.marks.map((i) => `M${along(x[i]).toFixed(1)} ${bottom + 4}v9`).join("");
    ink.push(drawn("path", { class: "out", d }));
  }
  for (const line of [...lines].reverse())
    ink.push(drawn("path", { class: WAY_CLASSES[line.way], d: path(x, line.values, along, up) }));
  const pointer = drawn("line", { class: "pointer", y1: top, y2: bottom, visibility: "hidden" });
  const figure = sheet(width, height, chart.label, ...ink, pointer);
  const read = (event) => {
    const box = figure.getBoundingClientRect();
    const at = ((event.clientX - box.left) / box.width) * width;
    let nearest = 0;
    for (let i = 1; i < x.length; i++)
      if (Math.abs(along(x[i]) - at) < Math.abs(along(x[nearest]) - at)) nearest = i;
    for (const end of ["x1", "x2"]) pointer.setAttribute(end, along(x[nearest]));
    pointer.setAttribute("visibility", "visible");
    const numbers = lines.map(
      (line) => `${DATA.ways[line.way].name} ${shown(line.values[nearest])}`,
    );
    if (chart.dots) numbers.unshift(`${DATA.outcome} ${shown(chart.dots[nearest])}`);
    said.textContent = `${dateWords(x[nearest])}: ${numbers.join(", ")}`;
  };
  figure.addEventListener("pointermove", read);
  figure.addEventListener("pointerdown", read);
  figure.addEventListener("pointerleave", () => {
    pointer.setAttribute("visibility", "hidden");
    said.textContent = chart.caption;
  });
  said.textContent = chart.caption;
  place.replaceChildren(key, figure);
}
