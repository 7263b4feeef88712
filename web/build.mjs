// Bundles the page into a folder: node build.mjs FOLDER. The module of the simulator must be built.
import { copyFile, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = process.argv[2] ?? `${root}target/page`;

/** Every shipped scenario and the files that they name, by their paths below `scenarios`. */
async function scenarios() {
  const found = { scenarios: {}, files: {} };
  for (const folder of ["", "ns3/", "traces/"]) {
    for (const name of (await readdir(`${root}scenarios/${folder}`)).sort()) {
      const path = `${folder}${name}`;
      if (!/\.(toml|trace)$/.test(name)) continue;
      const kind = name.endsWith(".toml") ? "scenarios" : "files";
      found[kind][path] = await readFile(`${root}scenarios/${path}`, "utf8");
    }
  }
  return found;
}

/** Makes the shipped scenarios importable as `shipped`. */
const shipped = {
  name: "shipped",
  setup(plugins) {
    plugins.onResolve({ filter: /^shipped$/ }, () => ({ path: "shipped", namespace: "shipped" }));
    plugins.onLoad({ filter: /.*/, namespace: "shipped" }, async () => ({
      contents: JSON.stringify(await scenarios()),
      loader: "json",
    }));
  },
};

/** The licences of the packages that these inputs belong to. */
async function licences(inputs) {
  const names = inputs.flatMap((path) => /node_modules\/((@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []);
  const texts = [...new Set(names)].sort().map(async (name) => {
    const folder = `${root}web/node_modules/${name}/`;
    const file = (await readdir(folder)).find((one) => /^licen[cs]e/i.test(one));
    if (!file) throw new Error(`${name} has no file with its licence`);
    return `${name}\n\n${await readFile(folder + file, "utf8")}`;
  });
  return (await Promise.all(texts)).join("\n\n");
}

const shared = {
  absWorkingDir: `${root}web`,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify: true,
  legalComments: "none",
  plugins: [shipped],
  logLevel: "warning",
};

await rm(out, { recursive: true, force: true });
await mkdir(out, { recursive: true });
const { metafile } = await build({
  ...shared,
  metafile: true,
  entryPoints: { page: "src/main.ts", worker: "src/worker.ts", style: "src/style.css" },
  outdir: out,
});
await writeFile(`${out}/licences.txt`, await licences(Object.keys(metafile.inputs)));
// The same code for tests in node.
await build({
  ...shared,
  minify: false,
  entryPoints: ["capacity", "explore-state", "permalink", "shipped", "simulator", "stories", "verdicts"].map(
    (name) => `src/${name}.ts`,
  ),
  outdir: `${out}-modules`,
  platform: "neutral",
});
await copyFile(`${root}web/src/index.html`, `${out}/index.html`);
await copyFile(`${root}target/wasm/sojourn.wasm`, `${out}/sojourn.wasm`);
await writeFile(`${out}-modules/package.json`, '{ "type": "module" }\n');
