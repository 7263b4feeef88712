// One controller has one look: that of the page is that of reports and pictures.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { looksOf } from "../../target/page-modules/colours.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const python = process.env.PYTHON ?? `${root}target/venv/bin/python`;
const PROGRAM = `
import json, sys
from sojourn.record import legend
found = legend.inks(json.load(sys.stdin))
print(json.dumps([[label, ink.colour, ink.dash, ink.weight] for label, ink in found.items()]))
`;

test("lines of controllers, of their flows and of other names look alike everywhere", () => {
  const flows = Array.from({ length: 24 }, (_, place) => [`lola: flow ${place}`, "lola"]);
  const own = ["cubic", "bbr", "reno", "dctcp", "bbr max_bw_filter=repaired", "mine", "ping", "yours", "neck"];
  const owners = Object.fromEntries([...flows, ...own.map((name) => [name, name])]);
  const pictures = JSON.parse(execFileSync(python, ["-c", PROGRAM], { input: JSON.stringify(owners), encoding: "utf8" }));
  const looks = [...looksOf(new Map(Object.entries(owners)), true)];
  assert.deepEqual(looks.map(([label, { colour, dash, weight }]) => [label, colour, [...dash], weight]), pictures);
});
