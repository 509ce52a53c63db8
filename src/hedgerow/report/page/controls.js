// One control per input: a slider with a number beside it, a switch, a choice or a date. The state
// holds the exact value; a slider, which knows only its own steps, merely follows it. What follows
// from a date has no control of its own: it is set by that of the date.

const MANY_INPUTS = 12;
const WEEKDAYS = [
  "Monday",
  "Tuesday",
  "Wednesday",
  "Thursday",
  "Friday",
  "Saturday",
  "Sunday",
];

function controlFor(input, i) {
  const id = `input-${i}`;
  const label = element("label", { for: id, title: input.name }, input.name);
  const box = element("div", {
    class: `control ${input.kind}`,
    "data-name": input.name.toLowerCase(),
  });
  const hint = element("span", { class: "hint", id: `${id}-hint` });
  let follow;
  if (input.kind === "number") {
    const slider = element("input", {
      type: "range",
      id,
      min: input.low,
      max: input.high,
      step: input.step,
      "aria-describedby": `${id}-hint`,
    });
    const number = element("input", {
      type: "number",
      step: "any",
      "aria-label": `${input.name}, exact value`,
      "aria-describedby": `${id}-hint`,
    });
    slider.addEventListener("input", () => setValue(i, Number(slider.value)));
    number.addEventListener("input", () => {
      if (number.value !== "" && Number.isFinite(Number(number.value)))
        setValue(i, Number(number.value));
    });
    follow = (value) => {
      if (Number(slider.value) !== value) slider.value = value;
      if (document.activeElement !== number) number.value = Number(value.toPrecision(6));
      const outside = value < input.least || value > input.most;
      hint.textContent = outside
        ? `outside the data, which go from ${shown(input.least)} to ${shown(input.most)}`
        : "";
    };
    box.append(label, number, slider, hint);
  } else if (input.kind === "switch") {
    const button = element("input", { type: "checkbox", role: "switch", id });
    button.addEventListener("change", () => setValue(i, button.checked ? 1 : 0));
    follow = (value) => (button.checked = value !== 0);
    box.append(label, button);
  } else if (input.kind === "category") {
    const choice = element(
      "select",
      { id },
      ...input.values.map((value) => element("option", { value }, value)),
    );
    choice.addEventListener("change", () => setValue(i, choice.value));
    follow = (value) => (choice.value = value);
    box.append(label, choice);
  } else {
    const along = DATA.inputs.flatMap((other) =>
      other.follows?.input === i && other.used ? [other.name] : [],
    );
    const date = element("input", { type: "date", id, "aria-describedby": `${id}-hint` });
    date.addEventListener("input", () => {
      if (dateParts(date.value)) setValue(i, date.value);
    });
    follow = (value) => {
      date.value = value;
      const weekday = WEEKDAYS[dateParts(value).weekday];
      hint.textContent = along.length ? `${weekday}; sets ${along.join(", ")} as well` : weekday;
    };
    box.append(label, date, hint);
  }
  return { box, follow };
}

function setUpControls() {
  const form = byId("controls");
  form.addEventListener("submit", (event) => event.preventDefault());
  const controls = DATA.inputs.map((input, i) =>
    input.used && !input.follows ? controlFor(input, i) : null,
  );
  const used = controls.filter(Boolean);
  if (used.length > MANY_INPUTS) {
    const find = element("input", {
      type: "search",
      id: "find-input",
      placeholder: `find among ${used.length} inputs`,
    });
    find.addEventListener("input", () => {
      const wanted = find.value.trim().toLowerCase();
      used.forEach(({ box }) => (box.hidden = !box.dataset.name.includes(wanted)));
    });
    form.append(
      element(
        "div",
        { class: "control find" },
        element("label", { for: "find-input", class: "unseen" }, "Find an input"),
        find,
      ),
    );
  }
  form.append(...used.map(({ box }) => box));
  if (!used.length) form.append(element("p", { class: "caption" }, "This rule looks at nothing."));
  watch((what) => {
    if (what !== "input" && what !== "start") return;
    controls.forEach((control, i) => {
      if (!control) return;
      control.follow(STATE.values[i]);
      control.box.classList.toggle("moved", STATE.values[i] !== STATE.start.values[i]);
    });
  });
}

function setUpStarts() {
  if (DATA.noun !== "row") byId("row-label").textContent = DATA.noun[0].toUpperCase() + DATA.noun.slice(1);
  const field = byId("row");
  field.max = DATA.rows.total;
  const place = () => (STATE.start.row ? ROWS.indexOf(STATE.start.row) : -1);
  const step = (by) => {
    const at = place() < 0 ? (by > 0 ? 0 : ROWS.length - 1) : place() + by;
    beginRow(ROWS[(at + ROWS.length) % ROWS.length].number);
  };
  byId("previous").addEventListener("click", () => step(-1));
  byId("next").addEventListener("click", () => step(1));
  byId("typical").addEventListener("click", beginTypical);
  byId("again").addEventListener("click", () => begin(STATE.start.values, STATE.start.row));
  field.addEventListener("change", () => {
    const number = Math.round(Number(field.value));
    if (field.value !== "" && Number.isFinite(number)) beginRow(number);
  });
  watch((what) => {
    if (what !== "start") return;
    const row = STATE.start.row;
    field.value = row ? row.number : "";
    const said = Array.from(row?.outcome ?? [], (y, i) =>
      row.outcome.length > 1 ? `${DATA.outcomes[i]} ${shown(y)}` : withUnit(shown(y), DATA.unit),
    );
    const few = said.length > 0 && said.length <= 3;
    const outcomes = few ? `; what then happened: ${said.join(", ")}` : "";
    byId("row-said").textContent = row
      ? `of ${shown(DATA.rows.total, 9)}${DATA.dated ? `, ${dateWords(row.day)}` : ""}${outcomes}`
      : "Mean of numbers, most common value of everything else.";
  });
}
