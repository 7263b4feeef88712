// The simulator and the worker's script: files beside the page or, in a page of one file, its parts.

import { el } from "./dom.ts";
import type { RecordedRuns } from "./model.ts";

/** The elements of a page of one file. */
const MODULE = "sojourn-wasm";
const WORKER = "sojourn-worker";
const LICENCES = "sojourn-licences";
const RECORD = "sojourn-record";

/** Text of an element of a page of one file. */
function part(id: string): string | undefined {
  return document.getElementById(id)?.textContent?.trim();
}

/** Content that was packed by gzip, as bytes or in base64. */
export function unpacked(packed: string | Uint8Array<ArrayBuffer>): Response {
  const bytes = typeof packed === "string" ? Uint8Array.from(atob(packed), (sign) => sign.charCodeAt(0)) : packed;
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}

/** Whether the page is one file. */
export const isOneFile = () => part(MODULE) !== undefined;

/** The page with a record as one file. */
export async function pageWith(record: RecordedRuns): Promise<string> {
  const page = isOneFile() ? ownPage() : await unpacked(await packedPage()).text();
  const empty = `<script type="text/plain" id="${RECORD}"></script>`;
  const packed = new Blob([JSON.stringify(record)]).stream().pipeThrough(new CompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return page.replace(empty, empty.replace("><", `>${btoa(text)}<`));
}

/** The page in one file, from the server. */
async function packedPage(): Promise<Uint8Array<ArrayBuffer>> {
  const response = await fetch("live.html.gz");
  if (!response.ok) throw new Error(`live.html.gz: ${response.status} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** This page of one file as it was loaded, without its record. */
function ownPage(): string {
  const copy = document.documentElement.cloneNode(true) as HTMLElement;
  const body = copy.querySelector("body");
  body?.replaceChildren(...copy.querySelectorAll("body > script"));
  for (const record of copy.querySelectorAll(`#${RECORD}`)) record.textContent = "";
  return `<!doctype html>\n${copy.outerHTML}\n`;
}

/** The simulator. */
export async function simulatorModule(): Promise<WebAssembly.Module> {
  const packed = part(MODULE);
  return packed === undefined ? moduleOf("sojourn.wasm") : WebAssembly.compile(await unpacked(packed).arrayBuffer());
}

/** The reader of logs, which a page of one file does not contain. */
export async function logsModule(): Promise<WebAssembly.Module> {
  if (isOneFile()) throw new Error("a page in one file reads no logs; open the page of `sojourn view`");
  return moduleOf("logs.wasm");
}

async function moduleOf(file: string): Promise<WebAssembly.Module> {
  const response = await fetch(file);
  if (!response.ok) throw new Error(`${file}: ${response.status} ${response.statusText}`);
  // Some servers do not know the type that compilation during the download requires.
  if (response.headers.get("content-type") === "application/wasm") return WebAssembly.compileStreaming(response);
  return WebAssembly.compile(await response.arrayBuffer());
}

/** The address of the worker's script. */
export function workerAddress(): string {
  const script = part(WORKER);
  if (script === undefined) return "worker.js";
  const text = JSON.parse(script) as string;
  return URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
}

/** The licences of the libraries. */
export function licences(): HTMLElement {
  const title = "Licences of the libraries";
  const text = part(LICENCES);
  if (text === undefined) return el("a", { href: "licences.txt" }, title);
  return el("details", {}, el("summary", {}, title), el("pre", {}, text));
}

/** The recorded runs in a page of one file. */
export async function ownRecord(): Promise<RecordedRuns | undefined> {
  const packed = part(RECORD);
  return packed ? ((await unpacked(packed).json()) as RecordedRuns) : undefined;
}
