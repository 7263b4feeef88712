// The licences of the packages and crates in the page.
import { execFileSync } from "node:child_process";
import { readFile, readdir } from "node:fs/promises";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Text of the licence in a folder: that of MIT, if there is a choice. */
async function textOf(name, folder) {
  const files = (await readdir(folder)).filter((one) => /^licen[cs]e/i.test(one));
  const file = files.find((one) => /mit/i.test(one)) ?? files[0];
  if (!file) throw new Error(`${name} has no file with its licence`);
  return (await readFile(`${folder}/${file}`, "utf8")).trim();
}

/** Names and folders of the packages that these inputs belong to. */
function packagesOf(inputs) {
  const names = inputs.flatMap((path) => /node_modules\/((@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
  return [...new Set(names)].map((name) => [name, `${root}web/node_modules/${name}`]);
}

/** Names and folders of the crates in the module. Macros run in the compiler alone. */
function crates() {
  const given = ["metadata", "--format-version=1", "--offline", "--filter-platform=wasm32-unknown-unknown"];
  const { packages, resolve } = JSON.parse(
    execFileSync("cargo", given, { cwd: root, maxBuffer: 1 << 28, stdio: ["ignore", "pipe", "inherit"] }),
  );
  const found = new Set(packages.filter(({ name }) => name === "sojourn-wasm").map(({ id }) => id));
  const of = (all, id) => all.find((one) => one.id === id);
  for (const id of found) {
    if (of(packages, id).targets.some(({ kind }) => kind.includes("proc-macro"))) found.delete(id);
    else for (const { pkg, dep_kinds } of of(resolve.nodes, id).deps) {
      if (dep_kinds.some(({ kind }) => kind === null)) found.add(pkg);
    }
  }
  return [...found]
    .map((id) => of(packages, id))
    .filter(({ source }) => source !== null)
    .map(({ name, manifest_path }) => [name, dirname(manifest_path)]);
}

/** The licences of the packages that these inputs belong to, of the crates, and of Rust's library. */
export async function licences(inputs) {
  const named = [...packagesOf(inputs), ...crates()].sort(([one], [other]) => (one < other ? -1 : 1));
  // Several crates may share a text.
  const byText = new Map();
  for (const [name, folder] of named) {
    const text = await textOf(name, folder);
    byText.set(text, [...(byText.get(text) ?? []), name]);
  }
  // Rust is distributed without a file of this text on some systems.
  const terms = [...byText.keys()].map((text) => /Permission is hereby granted[^]*/.exec(text)?.[0]).find(Boolean);
  const rust = "The standard library of Rust\n\nCopyright (c) The Rust Project Contributors";
  const parts = [...byText].map(([text, names]) => `${names.join(", ")}\n\n${text}`);
  return [...parts, `${rust}\n\n${terms}`].join("\n\n\n");
}
