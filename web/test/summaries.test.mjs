// The simulator in WebAssembly gives the same summary as the native one, to the byte, for every
// shipped scenario, and the page the same verdict as the command.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import test from "node:test";
import { files, scenarios } from "../../target/page-modules/shipped.js";
import { Simulator } from "../../target/page-modules/simulator.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const python = process.env.PYTHON ?? `${root}target/venv/bin/python`;
const module = new WebAssembly.Module(readFileSync(`${root}target/wasm/sojourn.wasm`));

/** Summaries and sentences of the native simulator. */
async function native(path) {
  const args = [`${root}web/test/native.py`, `${root}scenarios/${path}`];
  const { stdout } = await promisify(execFile)(python, args, { maxBuffer: 1 << 28 });
  return JSON.parse(stdout);
}

test("the module has no imports", () => {
  assert.deepEqual(WebAssembly.Module.imports(module), []);
});

test("scenarios", { concurrency: 2 }, async (t) => {
  const simulator = new Simulator(module);
  const all = Object.keys(scenarios).map((path) =>
    t.test(path, async () => {
      const expected = await native(path);
      const described = simulator.load(scenarios[path], files);
      const count = Math.max(described.controls.length, 1);
      const summaries = Array.from({ length: count }, (_, control) => {
        simulator.start(control);
        while (!simulator.advance(1 << 20));
        return simulator.finish();
      });
      assert.equal(summaries.length, expected.summaries.length);
      summaries.forEach((summary, k) => assert.equal(summary, expected.summaries[k]));
      const runs = summaries.map((summary) => JSON.parse(summary));
      const { sentences, picture } = simulator.judge("", runs, 0);
      assert.deepEqual({ sentences, picture }, { sentences: expected.sentences, picture: expected.picture });
    }),
  );
  await Promise.all(all);
});
