// What the reader has set: a value per input, where it started, the tree and decision looked at.
// Everything that is shown follows from it; whoever shows something asks to be told of changes.

const ROWS = (() => {
  const d = UNITS.centre.length;
  const m = DATA.outcomes.length;
  const contexts = unpacked(DATA.rows.contexts);
  const outcomes = unpacked(DATA.rows.outcomes);
  const decided = RULE ? null : unpacked(DATA.rows.decisions); // where the page cannot decide
  const k = UNITS.decision.length;
  return DATA.rows.numbers.map((number, i) => ({
    number,
    context: contexts.slice(i * d, (i + 1) * d),
    outcome: outcomes.slice(i * m, (i + 1) * m),
    decision: decided?.slice(i * k, (i + 1) * k),
    dates: Object.fromEntries(Object.entries(DATA.rows.dates).map(([j, texts]) => [j, texts[i]])),
  }));
})();

const isLeap = (year) => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;

// Weekday (0: Monday), month and day of the year of an ISO date; null if it is none.
function dateParts(text) {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text)?.map(Number) ?? [];
  const lengths = [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  if (!(day >= 1 && day <= lengths[month - 1])) return null;
  const ofYear = lengths.slice(0, month - 1).reduce((a, b) => a + b, 0) + day;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return [(date.getUTCDay() + 6) % 7, month, ofYear];
}

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
      parts.forEach((part, p) => (x[input.features[p]] = part));
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

const beginTypical = () => begin(DATA.typical, null);

// Begin at a row of the data; if the page does not carry it, at the nearest one it does.
function beginRow(number) {
  const apart = (row) => Math.abs(row.number - number);
  const row = ROWS.reduce((best, other) => (apart(other) < apart(best) ? other : best));
  begin(decoded(row), row);
}

function setValue(i, value) {
  const values = [...STATE.values];
  values[i] = value;
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
  STATE.start.row ? `row ${shown(STATE.start.row.number, 9)}` : "the typical row";
