// Panels and the verdict as SVG: gaps, axes, guides, names and bars.
import assert from "node:assert/strict";
import test from "node:test";
import { drawPanel } from "../../target/page-modules/figure/panel.js";
import { axisOf, plain, steady } from "../../target/page-modules/figure/scale.js";
import { drawVerdict } from "../../target/page-modules/figure/verdict.js";

const line = (ys, more = {}) => ({ kind: "line", name: "rtt", colour: "#0072b2", columns: [ys.map((_, x) => x), ys], ...more });
const drawn = (layers, more = {}, view = {}) => drawPanel({ title: "", behind: [], layers, ...more }, { width: 500, ...view });

test("a gap breaks the line, and a single sample is a dot", () => {
  const { svg } = drawn([line([1, 2, null, 5, null, 2, 1])]);
  const [path, dots] = [...svg.matchAll(/<path d="([^"]*)" (?:stroke-linecap="(round)" )?fill="none"/g)];
  assert.equal(path[1].match(/M/g).length, 2);
  assert.match(dots[1], /^M[\d.]+ [\d.]+h0$/);
  assert.equal(dots[2], "round");
});

test("a line of more points than pixels keeps its extremes and its gaps", () => {
  const ys = Array.from({ length: 50_000 }, (_, x) => (x === 12_345 ? 9 : x > 30_000 && x < 32_000 ? null : 1));
  const { svg } = drawn([line(ys)]);
  assert.ok(svg.length < 60_000);
  const [, path] = /<path d="(M[^"]*)" fill="none"/.exec(svg);
  assert.equal(path.match(/M/g).length, 2);
  const top = drawn([line([1, 9])]);
  assert.ok(path.includes(` ${top.top + Math.round(10 * top.height * (1 - top.y.at(9))) / 10}`));
});

test("an axis is scaled to the shown data, and not to a bound outside it", () => {
  const bound = (y) => ({ kind: "rules", name: "bound", columns: [[0], [y], [3], [y]], texts: ["bound"], dash: [6, 3] });
  const top = (layers, view) => drawn(layers, { y_scale: { zero: true } }, view).y.ends[1];
  assert.equal(top([line([1, 9, 2, 1]), bound(90)]), 10);
  assert.ok(top([line([1, 9, 2, 1]), bound(11)]) >= 11);
  // The shown part alone: its data and the next beside it.
  assert.equal(top([line([90, 1, 2, 1, 1])], { part: [2.5, 4] }), 2);
  // The name of the bound is at the edge.
  assert.match(drawn([line([1, 9, 2, 1]), bound(90)]).svg, /bound ↑/);
});

test("numbers have no exponent", () => {
  assert.equal(plain(1e-7), "0.0000001");
  assert.equal(plain(2.5e7), "25,000,000");
  for (const [low, high] of [[0, 3e-6], [0, 4e9], [0.02, 0.021], [-5, 5]]) {
    for (const { label } of axisOf(low, high, 5).ticks) assert.doesNotMatch(label, /e/);
  }
});

test("a logarithmic axis has ticks at powers of ten, at equal distances", () => {
  const { ticks, at } = axisOf(1, 10_000, 5, { type: "log" });
  assert.deepEqual(ticks.map(({ label }) => label), ["1", "10", "100", "1,000", "10,000"]);
  assert.ok(Math.abs(at(100) - at(10) - (at(10) - at(1))) < 1e-9);
});

test("values at the pointer have the decimals of their axis", () => {
  const write = steady(axisOf(0, 250, 5));
  assert.deepEqual([write(9), write(159.64)], ["9.0", "159.6"]);
  const fine = steady(axisOf(29.5, 33.5, 5));
  assert.deepEqual([fine(30), fine(30.1234)], ["30.00", "30.12"]);
});

test("lines have their names at their ends, apart and within the panel", () => {
  const named = (name, y) => line([1, y], { name });
  const names = ["cubic", "bbr", "lola", "copa"];
  const { svg, top, height } = drawn(names.map((name, place) => named(name, 9 + place / 100)), {}, { ends: true });
  const ends = [...svg.matchAll(/<text class="label" x="[\d.]+" y="([\d.]+)"[^>]*>(\w+)</g)];
  assert.deepEqual(ends.map(([, , name]) => name), ["copa", "lola", "bbr", "cubic"]);
  const places = ends.map(([, y]) => Number(y));
  places.slice(1).forEach((y, at) => assert.ok(y - places[at] >= 11.9, `${places}`));
  assert.ok(places[0] >= top && places.at(-1) <= top + height);
  // Without this choice, and of many lines, none has a name.
  assert.doesNotMatch(drawn(names.map((name) => named(name, 9))).svg, /class="label"/);
});

const picture = {
  title: "Peak queueing delay",
  caption: "Grey: unavoidable.",
  scale_s: 0.2,
  rows: [
    { control: "bbr", parts: [{ part: "unavoidable", delay_s: 0.1 }, { part: "late", delay_s: 0.1 }], recovery_s: 2, text: "200 ms, 2 s to recover" },
    { control: '<b>"', parts: [{ part: "unavoidable", delay_s: 0.1 }], recovery_s: null, text: "100 ms, met the bound" },
  ],
};

test("bars share one scale, follow each other, and are spoken", () => {
  for (const width of [360, 900]) {
    const { svg } = drawVerdict(picture, { width, colours: ["#d2781e", null] });
    const bars = [...svg.matchAll(/<rect x="([\d.]+)" y="\d+" width="([\d.]+)" height="16"/g)].map(([, x, size]) => [Number(x), Number(size)]);
    assert.equal(bars.length, 3);
    const [grey, late, alone] = bars;
    assert.ok(Math.abs(grey[1] - late[1]) < 0.2 && Math.abs(grey[1] - alone[1]) < 0.2);
    assert.ok(Math.abs(grey[0] + grey[1] + 1 - late[0]) < 0.2);
    assert.ok(late[0] + late[1] <= width);
    assert.match(svg, /aria-label="[^"]*bbr 200 ms, 2 s to recover: 100 ms unavoidable, 100 ms late reaction/);
    assert.doesNotMatch(svg, /<b>/);
  }
});

test("names are text", () => {
  const { svg } = drawn([line([1, 2])], { title: '"><img src=x>', y_axis: { values: [1], labels: ["<b>"] } });
  assert.doesNotMatch(svg, /<img|<b>/);
});
