// What frames a page: light and dark, a summary on one sheet of paper, and charts that are drawn
// anew when their room changes.

function setUpTheme() {
  const button = byId("theme");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () =>
    (document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark";
  const say = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-pressed", String(isDark()));
  };
  button.setAttribute("aria-label", "Dark colours");
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    say();
  });
  dark.addEventListener("change", say);
  say();
  button.hidden = false;
}

// Print what the first glance shows, on one page; the browser's own command prints everything.
function setUpSummary() {
  const root = document.documentElement;
  const button = byId("print");
  button.addEventListener("click", () => {
    root.dataset.print = "summary";
    window.print();
  });
  window.addEventListener("afterprint", () => delete root.dataset.print);
  button.hidden = false;
}

function setUpFrame() {
  setUpTheme();
  setUpSummary();
}

// Draw now, whenever the window has another width, and as wide as paper is while printing.
function setUpDrawing(draw) {
  draw();
  let width = window.innerWidth;
  let timer = null;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(timer);
    timer = setTimeout(draw, 100);
  });
  for (const part of document.querySelectorAll("details.more"))
    part.addEventListener("toggle", draw); // what is closed has no width
  window.addEventListener("beforeprint", () => {
    const brief = document.documentElement.dataset.print === "summary";
    if (!brief) for (const part of document.querySelectorAll("details")) part.open = true;
    PAPER.across = 690;
    draw();
  });
  window.addEventListener("afterprint", () => {
    PAPER.across = null;
    draw();
  });
}
