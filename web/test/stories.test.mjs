// The stories of Learn say what their runs show.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { files } from "../../target/page-modules/shipped.js";
import { Simulator } from "../../target/page-modules/simulator.js";
import { STORIES } from "../../target/page-modules/stories.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const simulator = new Simulator(new WebAssembly.Module(readFileSync(`${root}target/wasm/sojourn.wasm`)));

/** The runs of a story with these values, by their controllers. */
function runs(key, values = {}) {
  const story = STORIES.find((one) => one.key === key);
  const { controls } = simulator.load(story.scenario({ ...story.start, ...values }), files);
  const found = {};
  for (const [place, control] of [...controls.entries(), ...(controls.length ? [] : [[0, "run"]])]) {
    simulator.start(place);
    while (!simulator.advance(1 << 20));
    found[control] = JSON.parse(simulator.finish());
  }
  return found;
}

const flow = (run, name) => run.flows.find((one) => one.name === name);
const queue = (run, name = "bottleneck") => run.links.find((one) => one.name === name);

test("the bound is that of the formula, and the oracle meets it", () => {
  for (const [to, rtt] of [[20, 50], [15, 50], [40, 100]]) {
    const { ideal } = runs("bound", { to, rtt });
    const bound = (60 / to - 1) * rtt * 1e-3;
    // The oracle fills the link to some packets, which is less than 3 ms at these rates.
    assert.ok(Math.abs(ideal.spikes[0].bound_s - bound) < 1e-3);
    assert.ok(ideal.spikes[0].spike_s - bound < 3e-3);
  }
});

test("a larger buffer doubles the ping's delay, and a fair queue removes it", () => {
  const ping = (values) => flow(runs("bufferbloat", values).cubic, "ping").rtt_p99_s;
  const [now, larger, fair, pie] = [{}, { buffer: 600 }, { queue: "fq_codel" }, { queue: "pie" }].map(ping);
  assert.ok(larger > 1.8 * now && pie < 0.3 * now && fair < 0.5 * pie, [now, larger, fair, pie].join());
  assert.ok(flow(runs("bufferbloat").bbr, "ping").rtt_p99_s < 0.2 * now);
});

test("a short buffer leaves the link idle, and CUBIC fills it with less than one product", () => {
  const used = (buffer, control) => queue(runs("buffers", { buffer })[control]).utilisation;
  assert.ok(used(10, "reno") < 0.85 && used(100, "reno") > 0.99);
  // Reno needs a product, CUBIC 43 % of it.
  assert.ok(used(44, "cubic") > 0.99 && used(44, "reno") < 0.96 && used(2, "cubic") < 0.6);
});

test("BBR's spike is that of 750 kB in flight, and lasts for seconds", () => {
  const { spike_s, recovery_s } = runs("bbr").bbr.spikes[0];
  // 300 ms without the 50 ms of the path, and what its pacing adds.
  assert.ok(Math.abs(spike_s - 0.25) < 0.03, String(spike_s));
  assert.ok(recovery_s > 1 && recovery_s < 5, String(recovery_s));
});

test("ECN replaces drops by marks, and leaves the delay", () => {
  const [drops, marks] = ["false", "true"].map((ecn) => runs("ecn", { ecn }).cubic);
  const [dropped, marked] = [drops.flows[0], marks.flows[0]];
  assert.ok(dropped.dropped_packets > 0 && dropped.retransmitted_packets > 0 && dropped.marked_packets === 0);
  assert.ok(marked.marked_packets > 0 && marked.retransmitted_packets === 0);
  // Each run has a dozen signals, whose places differ.
  assert.ok(Math.abs(queue(marks).queue_delay_p99_s / queue(drops).queue_delay_p99_s - 1) < 0.25);
});

test("Prague starves CUBIC over one FIFO, and neither over two queues", () => {
  const ratio = (name) => {
    const [run] = Object.values(runs("l4s", { queue: name }));
    return flow(run, "prague").goodput_bps / flow(run, "cubic").goodput_bps;
  };
  assert.ok(ratio("threshold") > 10);
  for (const name of ["dualpi2", "fq_codel"]) assert.ok(ratio(name) < 2 && ratio(name) > 0.5, name);
});

test("a faster link does not help a call, and a queue of its own does", () => {
  const delay = (values) => flow(Object.values(runs("call", values))[0], "voice").media.frame_delay_p99_s;
  const [now, faster, fair, short] = [{}, { rate: 100 }, { queue: "fq_codel" }, { buffer: 20 }].map(delay);
  assert.ok(faster > 0.9 * now && now > 0.15, [now, faster].join());
  assert.ok(fair < short && short < 0.05, [fair, short].join());
});

test("LoLa's flows of equal round trips are equal, CUBIC's are not", () => {
  const { lola, cubic } = runs("lola", { far: 21, begin: 0 });
  const ratio = (run) => flow(run, "near").goodput_bps / flow(run, "far").goodput_bps;
  assert.ok(Math.abs(ratio(lola) - 1) < 0.05, String(ratio(lola)));
  assert.ok(Math.max(ratio(cubic), 1 / ratio(cubic)) > 1.1, String(ratio(cubic)));
  const far = (ms) => flow(runs("lola", { far: ms }).lola, "far").goodput_bps;
  assert.ok(far(201) < far(101));
});

test("a greater tau costs Rapid goodput, and shortens its queue", () => {
  const [fast, slow] = [150, 400].map((tau) => Object.values(runs("rapid", { tau }))[0]);
  assert.ok(flow(slow, "upload").goodput_bps < 0.95 * flow(fast, "upload").goodput_bps);
  assert.ok(queue(slow).queue_delay_p50_s < queue(fast).queue_delay_p50_s);
});
