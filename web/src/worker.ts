// A worker: one simulator, which runs in slices, so that a newer request can end a run.

import { FLOW_COLUMNS, LINK_COLUMNS } from "./messages.ts";
import type { Progress, Request, Response, Result, Task } from "./messages.ts";
import type { Judgement } from "./model.ts";
import { Broken, Refused, Simulator } from "./simulator.ts";

// Real time of a slice, and between two messages with samples.
const SLICE_MS = 8;
const REPORT_MS = 60;
const EVENTS = 1 << 13;
// Points of the curve of the unavoidable delay.
const POINTS = 1000;

let simulator: Simulator | undefined;
let oldest = 0;

const post = (message: Response, transfer: Transferable[] = []) =>
  self.postMessage(message, { transfer });

// A message to itself lets waiting requests arrive sooner than a timer does.
const turns = new MessageChannel();
const turn = () =>
  new Promise<void>((resolve) => {
    turns.port1.onmessage = () => resolve();
    turns.port2.postMessage(null);
  });

let last: Promise<void> = Promise.resolve();
self.onmessage = ({ data }: MessageEvent<Request>) => {
  if ("module" in data) simulator = new Simulator(data.module);
  else if ("oldest" in data) oldest = data.oldest;
  else last = last.then(() => serve(data.id, data.task));
};

async function serve(id: number, task: Task): Promise<void> {
  if (!simulator) return;
  if (id < oldest) return post({ id, isDropped: true });
  try {
    const result = await answer(simulator, id, task);
    post(result === undefined ? { id, isDropped: true } : { id, result, memory: simulator.memory() });
  } catch (error) {
    const problems = error instanceof Refused ? error.problems : [];
    const fault = error instanceof Error ? error.message : String(error);
    post({ id, fault, problems, isBroken: error instanceof Broken });
  }
}

const bytesOf = async (file: File) => new Uint8Array(await file.arrayBuffer());

// A reader of logs has an instance of its own: its memory, which may hold a large file, goes with it.
async function answer(own: Simulator, id: number, task: Task): Promise<Result | undefined> {
  switch (task.kind) {
    case "load":
      return own.load(task.scenario.text, task.scenario.files);
    case "judge":
      return judge(own, task);
    case "explain":
      return new Simulator(task.reader).explain(task.file.name, await bytesOf(task.file), task.cures);
    case "schema":
      return own.schema();
    case "qlog":
      return new Simulator(task.reader).readQlog(task.file.name, await bytesOf(task.file), FLOW_COLUMNS);
    case "run":
      own.load(task.scenario.text, task.scenario.files);
      own.start(task.control);
      return run(own, id);
  }
}

function judge(own: Simulator, { scenario, focus, runs }: Task & { kind: "judge" }): Judgement {
  try {
    own.load(scenario.text, scenario.files);
  } catch (error) {
    // A record may have the scenario of another version; its runs are judged without it.
    if (!(error instanceof Refused)) throw error;
  }
  return own.judge(focus, runs, POINTS);
}

/** Runs to the end, or until a newer request; then there is no result. */
async function run(own: Simulator, id: number): Promise<string | undefined> {
  const taken = { flows: 0, links: 0 };
  let reported = performance.now();
  for (let isOver = false; !isOver; ) {
    const began = performance.now();
    while (!isOver && performance.now() - began < SLICE_MS) isOver = own.advance(EVENTS);
    if (isOver || performance.now() - reported > REPORT_MS) {
      report(own, id, taken);
      reported = performance.now();
    }
    await turn();
    if (id < oldest) return undefined;
  }
  return own.finish();
}

function report(own: Simulator, id: number, taken: { flows: number; links: number }): void {
  const flows = own.samples("flows", taken.flows, FLOW_COLUMNS);
  const links = own.samples("links", taken.links, LINK_COLUMNS);
  taken.flows += (flows.columns["t_s"]?.length ?? 0) / Math.max(flows.names.length, 1);
  taken.links += (links.columns["t_s"]?.length ?? 0) / Math.max(links.names.length, 1);
  const progress: Progress = { now: own.now(), flows, links };
  const buffers = [flows, links].flatMap((one) => Object.values(one.columns).map((c) => c.buffer));
  post({ id, progress }, buffers);
}
