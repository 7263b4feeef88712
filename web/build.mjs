// Bundles the page into a folder: node build.mjs FOLDER. The module of the simulator must be built.
import { createHash } from "node:crypto";
import { copyFile, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { licences } from "./licences.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const out = process.argv[2] ?? `${root}target/page`;

/** Every shipped scenario and the files that they name, by their paths below `scenarios`. */
async function scenarios() {
  const found = { scenarios: {}, files: {} };
  const names = await readdir(`${root}scenarios`, { recursive: true });
  for (const path of names.sort()) {
    if (!/\.(toml|trace|txt)$/.test(path)) continue;
    const text = await readFile(`${root}scenarios/${path}`, "utf8");
    if (path.endsWith(".toml")) found.scenarios[path] = text;
    // A scenario names a file beside it without the folder.
    else found.files[path.startsWith("traces/") ? path : basename(path)] = text;
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

/** A quoted source of the Content-Security-Policy that allows this text. */
const hashOf = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Data in an element, which no text in it can end. */
const data = (id, text) => `<script type="text/plain" id="${id}">${text.replaceAll("<", "\\u003c")}</script>`;

/** The page that loads the parts of its script at once, and not one after the other. */
async function startPage(outputs) {
  const of = (name) => Object.entries(outputs).find(([path]) => path.endsWith(`/${name}`))?.[1];
  const needed = of("page.js").imports.filter(({ kind }) => kind === "import-statement");
  const links = needed.map(({ path }) => `<link rel="modulepreload" href="${path.replace(/.*\//, "")}">\n`);
  const html = await readFile(`${root}web/src/index.html`, "utf8");
  return html.replace("</head>", () => `${links.join("")}</head>`);
}

/** The page's script without parts that are loaded later. */
async function bundled() {
  const { outputFiles } = await build({ ...shared, entryPoints: ["src/main.ts"], write: false });
  return outputFiles[0].text;
}

/** The page in one file, which needs no server. `sojourn view --save` puts a record into it. */
async function oneFile() {
  const read = (name) => readFile(`${out}/${name}`, "utf8");
  const html = await readFile(`${root}web/src/index.html`, "utf8");
  const [style, worker] = await Promise.all(["style.css", "worker.js"].map(read));
  // "</script" occurs in strings only, in which the escape has no effect.
  const script = (await bundled()).replaceAll("</script", "<\\/script");
  const packed = gzipSync(await readFile(`${out}/sojourn.wasm`), { level: 9 }).toString("base64");
  const policy =
    `default-src 'none'; script-src ${hashOf(script)} 'wasm-unsafe-eval'; worker-src blob:; ` +
    `style-src ${hashOf(style)}; img-src data: blob:; base-uri 'none'; form-action 'none'`;
  const parts = [
    data("sojourn-wasm", packed),
    data("sojourn-worker", JSON.stringify(worker)),
    data("sojourn-record", ""),
    `<script type="text/plain" id="sojourn-licences">${await read("licences.txt")}</script>`,
    `<script type="module">${script}</script>`,
  ];
  return html
    .replace(/(Content-Security-Policy" content=")[^"]*/, (_, head) => head + policy)
    .replace(/<link rel="preload"[^>]*>\n/, "")
    .replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${style}</style>`)
    .replace(/<script type="module"[^>]*><\/script>\n/, "")
    .replace("</body>", () => `${parts.join("\n")}\n</body>`);
}

/** Modules that tests in node import. */
const TESTED = [
  ...["capacity", "colours", "completion", "explore-state", "parquet", "permalink", "pool"],
  ...["shipped", "simulator", "stories", "figure/panel", "figure/scale", "figure/verdict"],
];

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
  entryPoints: { page: "src/main.ts", style: "src/style.css" },
  outdir: out,
  splitting: true,
  chunkNames: "part-[hash]",
});
// A plain script, since a page that was opened as a file may start no worker that is a module.
await build({ ...shared, format: "iife", entryPoints: ["src/worker.ts"], outdir: out });
await writeFile(`${out}/licences.txt`, await licences(Object.keys(metafile.inputs)));
// The same code for tests in node.
await build({
  ...shared,
  minify: false,
  entryPoints: TESTED.map((name) => `src/${name}.ts`),
  outdir: `${out}-modules`,
  platform: "neutral",
});
await writeFile(`${out}/index.html`, await startPage(metafile.outputs));
await copyFile(`${root}target/wasm/sojourn.wasm`, `${out}/sojourn.wasm`);
await writeFile(`${out}/live.html.gz`, gzipSync(await oneFile(), { level: 9 }));
await writeFile(`${out}-modules/package.json`, '{ "type": "module" }\n');
