// A Parquet file of the page is read by polars.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import test from "node:test";
import { parquetOf } from "../../target/page-modules/parquet.js";

const PYTHON = process.env.PYTHON ?? fileURLToPath(new URL("../../target/venv/bin/python", import.meta.url));
const READ = `
import sys, json, polars as pl
print(json.dumps(pl.read_parquet(sys.argv[1]).to_dict(as_series=False)))
`;

/** The columns of a file, as polars reads them. */
function read(columns) {
  const folder = mkdtempSync(`${tmpdir()}/sojourn-parquet-`);
  try {
    writeFileSync(`${folder}/one.parquet`, parquetOf(columns));
    const text = execFileSync(PYTHON, ["-c", READ, `${folder}/one.parquet`], { maxBuffer: 1 << 28 });
    return JSON.parse(text);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test("texts, numbers and missing values", () => {
  const texts = ["cubic", "", "größer, \"quoted\"", "ideal"];
  const found = read([
    { name: "run", texts },
    { name: "t_s", numbers: [0, 0.1, 1e300, -5e-324] },
    { name: "rtt_s", numbers: [null, 2, null, null] },
    { name: "none", numbers: [null, null, null, null] },
  ]);
  assert.deepEqual(found.run, texts);
  assert.deepEqual(found.t_s, [0, 0.1, 1e300, -5e-324]);
  assert.deepEqual(found.rtt_s, [null, 2, null, null]);
  assert.deepEqual(found.none, [null, null, null, null]);
});

test("no rows, and many rows and columns", () => {
  assert.deepEqual(read([{ name: "t_s", numbers: [] }]), { t_s: [] });
  const rows = 100_003;
  const numbers = Array.from({ length: rows }, (_, row) => (row % 7 === 0 ? null : row / 3));
  const columns = Array.from({ length: 20 }, (_, place) => ({ name: `column ${place}`, numbers }));
  const found = read(columns);
  assert.equal(Object.keys(found).length, 20);
  assert.deepEqual(found["column 19"], numbers);
});
