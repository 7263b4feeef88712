// The WebAssembly module of crates/wasm, with texts and typed arrays instead of addresses.

import type { Described, Judgement, OwnSamples, Problem } from "./model.ts";
import type { FlowSummary, RunSummary } from "./record.ts";

interface Exports {
  memory: WebAssembly.Memory;
  sojourn_begin(): void;
  sojourn_fault(): number;
  sojourn_fault_length(): number;
  sojourn_input(length: number): number;
  sojourn_output(): number;
  sojourn_output_length(): number;
  sojourn_file(nameLength: number): number;
  sojourn_forget_files(): void;
  sojourn_load_toml(): number;
  sojourn_load_json(): number;
  sojourn_start(control: number): number;
  sojourn_advance(events: number): number;
  sojourn_now(): number;
  sojourn_flows(from: number): number;
  sojourn_links(from: number): number;
  sojourn_column(index: number): number;
  sojourn_finish(): number;
  sojourn_judge(points: number): number;
  sojourn_explain(nameLength: number, cures: number): number;
  sojourn_schema(): void;
  sojourn_qlog(nameLength: number): number;
}

/** The figures of a qlog, with the keys of `summary.json`, and its samples. */
export interface QlogFigures {
  title: string | null;
  duration_s: number;
  flows: Partial<FlowSummary>[];
  /** The error at which reading stopped. */
  damage: string | null;
  samples: OwnSamples;
}

/** Input that the simulator refuses. */
export class Refused extends Error {
  constructor(
    readonly problems: Problem[],
    text: string,
  ) {
    super(text);
  }
}

/** The simulator failed, and its module cannot be used again. */
export class Broken extends Error {}

/** A document, as TOML text or as an object. */
export type Text = string | object;

/** One scenario and one run. A page has one for each worker. */
export class Simulator {
  private readonly exports: Exports;

  constructor(module: WebAssembly.Module) {
    this.exports = new WebAssembly.Instance(module).exports as unknown as Exports;
    this.exports.sojourn_begin();
  }

  /** Check a scenario, and keep it for runs. `files` are those that it may name. */
  load(text: Text, files: Record<string, string> = {}): Described {
    this.call(() => this.exports.sojourn_forget_files());
    for (const [name, content] of Object.entries(files)) {
      const length = new TextEncoder().encode(name).length;
      this.write(name + content);
      this.checked(() => this.exports.sojourn_file(length));
    }
    const isToml = typeof text === "string";
    this.write(isToml ? text : JSON.stringify(text));
    const { sojourn_load_toml, sojourn_load_json } = this.exports;
    return JSON.parse(this.checked(isToml ? sojourn_load_toml : sojourn_load_json)) as Described;
  }

  /** Start the run of controller number `control`. */
  start(control: number): void {
    this.checked(() => this.exports.sojourn_start(control));
  }

  /** Continue the run for up to `events` events; true at its end. */
  advance(events: number): boolean {
    return this.call(() => this.exports.sojourn_advance(events)) !== 0;
  }

  /** The simulated time in seconds. */
  now(): number {
    return this.exports.sojourn_now();
  }

  /** The samples of flows or links without the first `from` ones, in columns that were asked for. */
  samples(what: "flows" | "links", from: number, columns: readonly string[]): OwnSamples {
    const { sojourn_flows, sojourn_links } = this.exports;
    const select = what === "flows" ? sojourn_flows : sojourn_links;
    return this.selected(JSON.parse(this.checked(() => select(from))) as Head[], columns);
  }

  /** Read a qlog file; its samples have the columns that were asked for, and `flow` as a place in `names`. */
  readQlog(name: string, content: Uint8Array, columns: readonly string[]): QlogFigures {
    const length = this.writeFile(name, content);
    const found = JSON.parse(this.checked(() => this.exports.sojourn_qlog(length)));
    const { columns: heads, ...figures } = found as QlogFigures & { columns: Head[] };
    return { ...figures, samples: this.selected(heads, ["flow", ...columns]) };
  }

  private selected(heads: Head[], columns: readonly string[]): OwnSamples {
    const found: OwnSamples = { names: [], columns: {} };
    heads.forEach((head, index) => {
      if (head.values && index === 0) found.names = head.values;
      if (columns.includes(head.name)) found.columns[head.name] = this.column(index, head.length);
    });
    return found;
  }

  /** End the run; return its summary as JSON. */
  finish(): string {
    return this.checked(() => this.exports.sojourn_finish());
  }

  /** What runs mean, with the unavoidable delay of the link `focus` of the loaded scenario. */
  judge(focus: string, runs: readonly RunSummary[], points: number): Judgement {
    this.write(JSON.stringify({ focus, runs }));
    return JSON.parse(this.checked(() => this.exports.sojourn_judge(points))) as Judgement;
  }

  /** The explanation of a file, as `sojourn explain --json` prints it. */
  explain(name: string, content: Uint8Array, cures: boolean): string {
    const length = this.writeFile(name, content);
    return this.checked(() => this.exports.sojourn_explain(length, Number(cures)));
  }

  /** The JSON Schema of scenarios. */
  schema(): object {
    this.call(() => this.exports.sojourn_schema());
    return JSON.parse(this.output()) as object;
  }

  /** Bytes of memory that the module has. It never returns them. */
  memory(): number {
    return this.exports.memory.buffer.byteLength;
  }

  private column(index: number, length: number): Float64Array<ArrayBuffer> {
    const address = this.exports.sojourn_column(index);
    return new Float64Array(this.exports.memory.buffer, address, length).slice();
  }

  private write(text: string): void {
    this.writeBytes(new TextEncoder().encode(text));
  }

  /** Writes the name of a file and its content; returns the length of the name in bytes. */
  private writeFile(name: string, content: Uint8Array): number {
    const head = new TextEncoder().encode(name);
    this.writeBytes(head, content);
    return head.length;
  }

  private writeBytes(...parts: Uint8Array[]): void {
    const length = parts.reduce((sum, one) => sum + one.length, 0);
    let address = this.call(() => this.exports.sojourn_input(length));
    for (const one of parts) {
      new Uint8Array(this.exports.memory.buffer, address, one.length).set(one);
      address += one.length;
    }
  }

  private output(): string {
    return this.text(this.exports.sojourn_output(), this.exports.sojourn_output_length());
  }

  private text(address: number, length: number): string {
    return new TextDecoder().decode(new Uint8Array(this.exports.memory.buffer, address, length));
  }

  private checked(call: () => number): string {
    const isResult = this.call(call) !== 0;
    const output = this.output();
    if (isResult) return output;
    const fault = JSON.parse(output) as { errors: Problem[]; text: string };
    throw new Refused(fault.errors, fault.text);
  }

  private call<T>(call: () => T): T {
    try {
      return call();
    } catch (error) {
      const length = this.exports.sojourn_fault_length();
      const reason = length > 0 ? this.text(this.exports.sojourn_fault(), length) : String(error);
      throw new Broken(`The simulator failed: ${reason}`);
    }
  }
}

interface Head {
  name: string;
  length: number;
  values?: string[];
}
