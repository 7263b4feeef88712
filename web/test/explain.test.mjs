// The module explains a file with the same bytes as the command: `sojourn explain FILE --json`.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import test from "node:test";
import { Refused, Simulator } from "../../target/page-modules/simulator.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const python = process.env.PYTHON ?? `${root}target/venv/bin/python`;
const module = new WebAssembly.Module(readFileSync(`${root}target/wasm/logs.wasm`));

/** The bytes that the command prints, whatever its status. */
async function printed(file) {
  const args = ["-m", "sojourn", "explain", file, "--json"];
  const options = { cwd: root, maxBuffer: 1 << 28 };
  const { stdout } = await promisify(execFile)(python, args, options).catch((error) => error);
  return stdout.trimEnd();
}

for (const file of ["tests/captures/timestamps.pcapng", "tests/qlog/datagrams.sqlog"]) {
  test(`${file} has the same explanation`, async () => {
    const content = readFileSync(`${root}${file}`);
    const found = new Simulator(module).explain(file.split("/").at(-1), content, true);
    assert.equal(found, await printed(file));
    assert.ok(JSON.parse(found).text.length > 0);
  });
}

test("other content is refused with the kinds that are read", () => {
  const content = new TextEncoder().encode("hello");
  assert.throws(() => new Simulator(module).explain("notes.txt", content, false), (error) => {
    return error instanceof Refused && error.message.startsWith("notes.txt: not pcap or pcapng, qlog");
  });
});
