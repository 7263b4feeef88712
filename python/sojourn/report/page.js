// Draws the figure as wide as the page, and again where the page's width changes.
const place = document.getElementById("figure");
const spec = JSON.parse(document.getElementById("spec").textContent);
const widths = spec.concat.map((view) => view.width);
const part = spec.params.find((param) => param.name === "part");
// Axes, gaps and padding beside the panels themselves.
const BESIDE = 150;
// The renderer sizes its own element by the figure, so measure the one around it.
const around = place.parentElement;
let width = around.clientWidth;
let drawn = null;

async function draw() {
  const room = Math.max(width - BESIDE, 320);
  const whole = widths[0] + widths[1];
  spec.concat.forEach((view, at) => {
    view.width = Math.round((widths[at] / whole) * room);
  });
  drawn?.finalize();
  // A copy, because drawing changes its input.
  drawn = await vegaEmbed(place, structuredClone(spec), { actions: false, renderer: "canvas" });
}

new ResizeObserver(
  lodashDebounce(() => {
    if (Math.abs(around.clientWidth - width) > 20) {
      width = around.clientWidth;
      draw();
    }
  }, 150),
).observe(around);

for (const button of document.querySelectorAll("button[data-from]")) {
  button.addEventListener("click", () => {
    part.value = { x: [Number(button.dataset.from), Number(button.dataset.to)] };
    draw();
  });
}
draw();
