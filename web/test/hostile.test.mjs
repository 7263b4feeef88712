// Hostile input for the simulator and for the readers of fragments: it is refused, and the next
// request is served. A fixed seed makes each failure repeatable; `FUZZ=10000` tries more.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import test from "node:test";
import { stateOf } from "../../target/page-modules/explore-state.js";
import { fragmentOf, scenarioOf } from "../../target/page-modules/permalink.js";
import { files, scenarios } from "../../target/page-modules/shipped.js";
import { Refused, Simulator } from "../../target/page-modules/simulator.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const module = new WebAssembly.Module(readFileSync(`${root}target/wasm/sojourn.wasm`));
const ROUNDS = Number(process.env.FUZZ ?? 400);

/** Numbers from 0 to 1 (Marsaglia 2003, "Xorshift RNGs"). */
function random(seed) {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

const TOKENS = ["\0", "\u{10ffff}", "1e999", "-1", "[[", "]]", "{", "}", '"', "=", "60Mbit", "0s",
  "99999999999999999999", "nan", "[link.x]", "[flow.upload]", "count = 1000000", "\r", "ideal"];

/** A text with some parts removed, repeated or replaced. */
function mutated(text, draw) {
  let out = text;
  for (let times = 1 + draw() * 6; times > 0; times--) {
    const at = Math.floor(draw() * out.length);
    const to = at + Math.floor(draw() * 20);
    const token = TOKENS[Math.floor(draw() * TOKENS.length)];
    const parts = [token, "", out.slice(at, to).repeat(2)];
    out = out.slice(0, at) + parts[Math.floor(draw() * 3)] + out.slice(draw() < 0.5 ? at : to);
  }
  return out;
}

test("scenarios and traces are read or refused", () => {
  const simulator = new Simulator(module);
  const draw = random(1);
  const texts = Object.values(scenarios);
  let refused = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const text = mutated(texts[round % texts.length], draw);
    const trace = { "traces/cellular.trace": mutated("1\n2\n3\n", draw) };
    try {
      const { memory_bytes } = simulator.load(text, draw() < 0.5 ? trace : files);
      // Runs a little of those that the page would run.
      if (memory_bytes < 2 ** 28) {
        simulator.start(0);
        simulator.advance(20_000);
      }
    } catch (error) {
      if (!(error instanceof Refused)) throw new Error(`${JSON.stringify(text)}: ${error}`);
      refused += 1;
      assert.ok(error.problems.length > 0);
    }
  }
  assert.ok(refused > ROUNDS / 10, `${refused} of ${ROUNDS} were refused`);
  simulator.load(scenarios["capacity-drop.toml"]);
});

test("records are judged or refused", () => {
  const simulator = new Simulator(module);
  simulator.load(scenarios["capacity-drop.toml"]);
  simulator.start(0);
  while (!simulator.advance(1 << 20));
  const summary = simulator.finish();
  const draw = random(2);
  for (let round = 0; round < ROUNDS; round++) {
    const text = mutated(summary, draw);
    try {
      simulator.judge("bottleneck", [JSON.parse(text)], 10);
    } catch (error) {
      const isRefused = error instanceof Refused || error instanceof SyntaxError;
      if (!isRefused) throw new Error(`${JSON.stringify(text)}: ${error}`);
    }
  }
});

test("a fragment holds its scenario, and others are refused", async () => {
  const scenario = { text: scenarios["web.toml"], files };
  const fragment = await fragmentOf(scenario);
  assert.deepEqual(await scenarioOf(fragment), scenario);
  const draw = random(3);
  for (let round = 0; round < 50; round++) {
    const found = await scenarioOf(mutated(fragment, draw));
    assert.ok(found === undefined || typeof found.text === "string");
  }
  // Some kilobytes that unpack to a long scenario: up to 8 MB are read, and 64 MB are refused.
  const blank = (bytes) => fragmentOf({ text: " ".repeat(bytes), files: {} });
  assert.equal((await scenarioOf(await blank(7e6)))?.text.length, 7e6);
  const bomb = await blank(64 << 20);
  assert.ok(bomb.length < 200_000);
  assert.equal(await scenarioOf(bomb), undefined);
});

test("the state of Explore stays in its ranges", () => {
  const state = stateOf("rate=1e99&to=-5&flows=nan&queue=__proto__&controls=x,constructor");
  assert.deepEqual(
    [state.rate, state.to, state.flows, state.queue, state.controls.length],
    [1000, 0.5, 1, "codel", 5],
  );
});
