// What every part of the page shares: the embedded numbers, how numbers are written, and how
// elements are made. Texts from the data only ever become text nodes, never markup.

const DATA = JSON.parse(document.getElementById("hedgerow-data").textContent);

// Arrays travel as base64 of little-endian bytes: exact, and smaller than decimal numbers.
function unpacked(packed) {
  const kind = "f32" in packed ? Float32Array : Float64Array;
  const bytes = Uint8Array.from(atob(packed.f32 ?? packed.f64), (c) => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const size = kind.BYTES_PER_ELEMENT;
  const read = size === 4 ? (i) => view.getFloat32(i, true) : (i) => view.getFloat64(i, true);
  return Float64Array.from({ length: bytes.length / size }, (_, i) => read(i * size));
}

// The same for every array in a value, however deep.
function allUnpacked(value) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map(allUnpacked);
  if ("f32" in value || "f64" in value) return unpacked(value);
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, allUnpacked(part)]));
}

// A number for people: `digits` significant ones, a real minus sign, commas in thousands.
function shown(value, digits = 4) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-6 || size >= 1e9)) {
    return value
      .toExponential(digits - 1)
      .replace("-", "−")
      .replace("e", " e")
      .replace("e+", "e");
  }
  const whole = size === 0 ? 1 : Math.floor(Math.log10(size)) + 1;
  const places = Math.max(digits - whole, 0);
  const text = size.toFixed(places);
  const [units, rest] = (places ? text.replace(/\.?0+$/, "") : text).split(".");
  const grouped = units.replace(/\B(?=(\d{3})+(?!\d))/g, ",") + (rest ? `.${rest}` : "");
  return Number(text) !== 0 && value < 0 ? `−${grouped}` : grouped;
}

function signed(value, digits = 3) {
  const text = shown(value, digits);
  return text === "0" || text.startsWith("−") ? text : `+${text}`;
}

// A share in percent, with a decimal below ten and near a hundred; 0 and 100 only if it is.
function percent(share) {
  if (share > 0 && share < 0.0005) return "< 0.1 %";
  if (share >= 0.9995 && share < 1) return "> 99.9 %";
  const close = share < 0.0995 || (share > 0.9 && share < 1);
  return `${close ? (100 * share).toFixed(1).replace(/\.0$/, "") : (100 * share).toFixed(0)} %`;
}

const withUnit = (text, unit) => (unit ? `${text} ${unit}` : text);

// A decision as it is counted: shares of a whole in percent, everything else in its own unit.
const amount = (k, value, digits = 4) =>
  DATA.shares[k] ? `${shown(100 * value, 3)} %` : shown(value, digits);

const amountChange = (k, value, digits = 3) =>
  DATA.shares[k] ? `${signed(100 * value, digits)} %` : signed(value, digits);

const shortened = (text, most) =>
  text.length <= most ? text : `${text.slice(0, most - 1).trimEnd()}…`;

// Round numbers that divide [low, high] into about `count` steps.
function ticks(low, high, count = 5) {
  const span = high - low || Math.abs(high) || 1;
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * span; i++) {
    found.push(Number((i * step).toPrecision(12)));
  }
  return found;
}

function furnish(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const element = (tag, attributes = {}, ...children) =>
  furnish(document.createElement(tag), attributes, children);

const drawn = (tag, attributes = {}, ...children) =>
  furnish(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// Draw something anew without taking the keyboard away from where it was.
function keepingFocus(work) {
  const id = document.activeElement?.id;
  work();
  if (id && document.activeElement?.id !== id) byId(id)?.focus({ preventScroll: true });
}

const byId = (id) => document.getElementById(id);

// One sheet of ink, as wide as the place it is put into; `label` is what screen readers say.
function sheet(width, height, label, ...children) {
  return drawn(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width: "100%", role: "img", "aria-label": label },
    ...children,
  );
}
