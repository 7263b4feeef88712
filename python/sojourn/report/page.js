// Draws the figure as wide as the page, and again where the page's width changes.
const place = document.getElementById("figure");
const spec = JSON.parse(document.getElementById("spec").textContent);
const linkRows = JSON.parse(document.getElementById("link-rows").textContent);
// The colour on a dark ground of each colour in the figure.
const dark = JSON.parse(document.getElementById("dark").textContent);
const widths = spec.concat.map((view) => view.width);
const part = spec.params.find((param) => param.name === "part");
// The rows of the link that the figure shows first.
const first = { concat: spec.concat.slice(0, 4), datasets: { ...spec.datasets } };
const isDark = window.matchMedia("(prefers-color-scheme: dark)");
// Axes, gaps and padding beside the panels themselves: of two in a row, and of one.
const BESIDE = 150;
const BESIDE_ONE = 76;
// A narrower page has one panel a row.
const NARROW = 760;
// Names of the legend and figures of a tooltip that fit.
const PIXELS_PER_LETTER = 7.5;
const SYMBOL = 44;
const PIXELS_PER_LABEL = 6;
const NUMBERS = 30;
const MOST_FIGURES = 16;
// The renderer sizes its own element by the figure, so measure the one around it.
const around = place.parentElement;
let width = around.clientWidth;
let drawn = null;

function layOut(asked) {
  const isNarrow = width < NARROW;
  const beside = (isNarrow ? BESIDE_ONE : BESIDE) + labelWidth(asked);
  const room = Math.max(width - beside, 220);
  const whole = widths[0] + widths[1];
  asked.columns = isNarrow ? 1 : 2;
  // The page's own ground, light or dark.
  asked.background = "transparent";
  asked.concat.forEach((view, at) => {
    view.width = isNarrow ? room : Math.round((widths[at] / whole) * room);
    if (isNarrow) view.title.text = wrapped(view.title.text, room / PIXELS_PER_LETTER);
    // With one panel a row, each has its own axes.
    for (const layer of isNarrow ? view.layer : []) {
      const { x, y } = layer.encoding ?? {};
      if ("labels" in (x?.axis ?? {})) Object.assign(x.axis, { labels: true, ticks: true, tickCount: 5 });
      if ("labels" in (y?.axis ?? {})) Object.assign(y.axis, { labels: true, ticks: true });
    }
  });
  const legend = asked.config.legend;
  legend.columns = Math.max(1, Math.floor(room / (SYMBOL + PIXELS_PER_LETTER * longestName(asked))));
  legend.labelLimit = room - SYMBOL;
  return asked;
}

// Properties of Vega-Lite that hold a colour; other texts may be names from the user.
const HOLDERS = ["fill", "stroke", "background", "value", "range"];

function themed(value, holds = false) {
  if (Array.isArray(value)) return value.map((item) => themed(item, holds));
  if (typeof value === "string") return holds ? (dark[value] ?? value) : value;
  if (value === null || typeof value !== "object") return value;
  const change = ([key, item]) => [
    key,
    key === "datasets" ? item : themed(item, HOLDERS.includes(key) || /color$/i.test(key)),
  ];
  return Object.fromEntries(Object.entries(value).map(change));
}

// The lines of a title that is wider than a phone.
function wrapped(title, letters) {
  const lines = [""];
  for (const word of title.split(" ")) {
    const longer = `${lines.at(-1)} ${word}`.trim();
    if (longer.length > letters && lines.at(-1)) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  // A blank title keeps its height.
  return lines.length > 1 ? lines : title;
}

// Pixels by which the names of boxes are wider than the numbers on an axis.
function labelWidth(asked) {
  const axes = asked.concat.flatMap((view) => view.layer.map((layer) => layer.encoding?.y));
  const widths = axes
    .filter((y) => Array.isArray(y?.sort) && y.axis?.labels !== false)
    .map((y) => {
      const longest = Math.max(...y.sort.flatMap((name) => name.split(": ")).map((line) => line.length));
      return Math.min(longest * PIXELS_PER_LABEL, y.axis?.labelLimit ?? Infinity);
    });
  return Math.max(0, ...widths.map((each) => each - NUMBERS));
}

function longestName(asked) {
  const names = asked.concat.flatMap((view) =>
    view.layer.flatMap(({ encoding }) =>
      [encoding?.color, encoding?.strokeDash].flatMap((shown) => shown?.scale?.domain ?? []),
    ),
  );
  return Math.max(1, ...names.map((name) => name.length));
}

// The time, and the known figures, the greatest first.
function tooltip(value, escaped) {
  if (value === null || typeof value !== "object") return escaped(value);
  const isKnown = ([, text]) => !["", "null", "undefined", "NaN"].includes(String(text));
  const [time, ...figures] = Object.entries(value).filter(isKnown);
  const number = ([, text]) => Number(String(text).replace("\u2212", "-").replaceAll(",", ""));
  figures.sort((a, b) => number(b) - number(a));
  const rows = [time, ...figures.slice(0, MOST_FIGURES)].filter(Boolean);
  const cells = ([key, text]) =>
    `<tr><td class="key">${escaped(key)}</td><td class="value">${escaped(text)}</td></tr>`;
  return `<table><tbody>${rows.map(cells).join("")}</tbody></table>`;
}

async function draw() {
  drawn?.finalize();
  // A copy, because drawing changes its input.
  const copy = structuredClone(spec);
  drawn = await vegaEmbed(place, layOut(isDark.matches ? themed(copy) : copy), {
    actions: false,
    renderer: "canvas",
    tooltip: { formatTooltip: tooltip, theme: isDark.matches ? "dark" : "light" },
  });
}

new ResizeObserver(
  lodashDebounce(() => {
    if (Math.abs(around.clientWidth - width) > 20) {
      width = around.clientWidth;
      draw();
    }
  }, 150),
).observe(around);

isDark.addEventListener("change", draw);
for (const button of document.querySelectorAll("button[data-from]")) {
  button.addEventListener("click", () => {
    part.value = { x: [Number(button.dataset.from), Number(button.dataset.to)] };
    draw();
  });
}
document.getElementById("link")?.addEventListener("change", (event) => {
  const at = Number(event.target.value);
  const rows = at === 0 ? first : linkRows[at - 1];
  spec.concat.splice(0, 4, ...rows.concat);
  Object.assign(spec.datasets, rows.datasets);
  draw();
});
draw();
