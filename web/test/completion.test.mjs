// Completion in the editor, from the simulator's own schema.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import test from "node:test";
import { CompletionContext } from "@codemirror/autocomplete";
import { EditorState } from "@codemirror/state";
import { completion } from "../../target/page-modules/completion.js";
import { Simulator } from "../../target/page-modules/simulator.js";

const file = fileURLToPath(new URL("../../target/wasm/sojourn.wasm", import.meta.url));
const source = completion(new Simulator(new WebAssembly.Module(readFileSync(file))).schema());

/** The labels that are offered at the end of a text. */
function offered(text) {
  const state = EditorState.create({ doc: text });
  const found = source(new CompletionContext(state, text.length, true));
  return found?.options.map((option) => option.label) ?? [];
}

test("keys and values are offered at their place", () => {
  assert.ok(offered("du").includes("duration"));
  assert.ok(!offered("[link.a]\nra").includes("duration"));
  for (const key of ["rate", "delay", "queue", "buffer"]) assert.ok(offered("[link.a]\nra").includes(key), key);
  assert.ok(offered("[flow.a]\nso").includes("source"));
  assert.ok(offered('[link.a]\nqueue = { kind = "co').includes('"codel"'));
  assert.ok(offered("[link.a]\nqueue = { k").includes("kind"));
  assert.deepEqual(offered("# du"), []);
});
