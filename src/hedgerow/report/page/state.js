// What the reader has set: a value per input, where it started, the tree and decision looked at.
// Everything that is shown follows from it; whoever shows something asks to be told of changes.

const ROWS = (() => {
  const d = UNITS.centre.length;
  const m = DATA.outcomes.length;
  const contexts = unpacked(DATA.rows.contexts);
  const outcomes = unpacked(DATA.rows.outcomes);
  const decided = RULE ? null : unpacked(DATA.rows.decisions); // where the page cannot decide
  const days = DATA.rows.days && unpacked(DATA.rows.days);
  const k = UNITS.decision.length;
  return DATA.rows.numbers.map((number, i) => ({
    number,
    context: contexts.slice(i * d, (i + 1) * d),
    outcome: outcomes.slice(i * m, (i + 1) * m),
    decision: decided?.slice(i * k, (i + 1) * k),
    day: days?.[i] ?? number,
    dates: Object.fromEntries(Object.entries(DATA.rows.dates).map(([j, texts]) => [j, texts[i]])),
  }));
})();

// Values of the inputs, in their order or by name, → context x.
function encode(given) {
  const values = Array.isArray(given) ? given : DATA.inputs.map((input) => given[input.name]);
  const x = new Float64Array(UNITS.centre.length);
  DATA.inputs.forEach((input, i) => {
    if (input.kind === "category") {
      const place = input.values.indexOf(String(values[i]));
      if (place < 0) throw new RangeError(`${input.name} has no value ${values[i]}.`);
      x[input.features[place]] = 1;
    } else if (input.kind === "date") {
      const parts = dateParts(values[i]);
      if (!parts) throw new RangeError(`${input.name} must be a date like 2015-11-07.`);
      input.features.forEach((j, p) => (x[j] = parts[CALENDAR[p]]));
    } else {
      x[input.features[0]] = Number(values[i]);
    }
  });
  return x;
}

// Values of the inputs on one row of the data.
const decoded = (row) =>
  DATA.inputs.map((input, i) => {
    if (input.kind === "date") return row.dates[i];
    const numbers = input.features.map((j) => row.context[j]);
    return input.kind === "category" ? input.values[numbers.indexOf(1)] : numbers[0];
  });

const STATE = {
  values: [],
  x: null,
  start: { row: null, values: [], x: null, decision: null }, // row: null for the typical row
  decision: 0,
  tree: 0,
};

const watchers = [];
const watch = (watcher) => watchers.push(watcher);

// `what` is "input", "start", "decision" or "tree".
function changed(what) {
  for (const watcher of watchers) watcher(what);
}

function begin(values, row) {
  const x = encode(values);
  Object.assign(STATE, { values: [...values], x });
  STATE.start = { row, values: [...values], x, decision: decide(x) };
  changed("start");
}

const beginTypical = () =>
  begin(
    DATA.inputs.reduce(
      (values, input, i) => (input.kind === "date" ? withFollowers(values, i) : values),
      DATA.typical,
    ),
    null,
  );

// The same values, those moved along that follow from the date which is input i.
function withFollowers(values, i) {
  const parts = dateParts(values[i]);
  return values.map((value, j) => {
    const follows = DATA.inputs[j].follows;
    if (follows?.input !== i) return value;
    const part = parts[follows.part];
    return follows.table ? (follows.table[part] ?? value) : part + follows.offset;
  });
}

// Begin at a row of the data; if the page does not carry it, at the nearest one it does.
function beginRow(number) {
  const apart = (row) => Math.abs(row.number - number);
  const row = ROWS.reduce((best, other) => (apart(other) < apart(best) ? other : best));
  begin(decoded(row), row);
}

function setValue(i, value) {
  let values = [...STATE.values];
  values[i] = value;
  if (DATA.inputs[i].kind === "date") values = withFollowers(values, i);
  STATE.x = encode(values);
  STATE.values = values;
  changed("input");
}

function lookAt(part, value) {
  if (STATE[part] === value) return;
  STATE[part] = value;
  changed(part);
}

const startName = () =>
  STATE.start.row
    ? `${DATA.noun} ${shown(STATE.start.row.number, 9)}`
    : `the typical ${DATA.noun}`;
