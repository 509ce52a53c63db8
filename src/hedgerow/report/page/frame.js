// What frames a page: light and dark, and charts that are drawn anew when their room changes.

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
  window.addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details")) part.open = true;
    PAPER.across = 690;
    draw();
  });
  window.addEventListener("afterprint", () => {
    PAPER.across = null;
    draw();
  });
}
