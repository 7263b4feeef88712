// The workers of a page: each has a simulator, and serves one request after the other.

import type { Progress, Request, Response, Result, Scenario, Task } from "./messages.ts";
import type { Described, Judgement, Problem } from "./model.ts";
import type { RunSummary } from "./record.ts";
import type { QlogFigures } from "./simulator.ts";

/** Longest real time of a request, except for a run, which reports its progress. */
const PATIENCE_MS = 5000;
/** Longest real time of an explanation, which simulates hundreds of twins. */
const EXPLAINED_MS = 600_000;
/** Longest time to read a qlog, which may have a gigabyte. */
const READ_MS = 120_000;
/** Longest silence of a run, whose slices take a hundredth of it. */
const SILENCE_MS = 10_000;

/** Longest time that a worker takes to notice that its request was dropped. */
const DROPPED_MS = 1000;

/** A request that failed, or input that was refused. */
export class Fault extends Error {
  constructor(
    message: string,
    readonly problems: Problem[] = [],
  ) {
    super(message);
  }
}

interface Job {
  id: number;
  task: Task;
  onProgress: (progress: Progress) => void;
  resolve: (result: Result) => void;
  reject: (fault: Fault) => void;
}

/** One worker, replaced by a new one when it hangs or breaks. */
class Hand {
  job: Job | undefined;
  memory = 0;
  /** Reason why the worker cannot be loaded. */
  fault: string | undefined;
  /** Whether the request was dropped, which the worker has not noticed yet. */
  private isDropped = false;
  /** Whether the worker ever answered: else its script may be missing. */
  private isHeard = false;
  private isSecond = false;
  private module: WebAssembly.Module | undefined;
  private worker: Worker;
  private timer = 0;

  constructor(
    private readonly script: string,
    private readonly onFree: () => void,
  ) {
    this.worker = this.hired();
  }

  /** Give the worker the simulator, which it needs before its first request. */
  equip(module: WebAssembly.Module): void {
    this.module = module;
    this.post({ module });
  }

  take(job: Job): void {
    this.job = job;
    this.watch();
    this.post({ id: job.id, task: job.task });
  }

  /** Drop the request, if it is older than this one. */
  drop(oldest: number): void {
    this.post({ oldest });
    if (!this.job || this.job.id >= oldest || this.isDropped) return;
    this.isDropped = true;
    this.limit(DROPPED_MS, "");
  }

  private hired(): Worker {
    const worker = new Worker(this.script);
    this.isHeard = false;
    if (this.module) worker.postMessage({ module: this.module } satisfies Request);
    worker.onmessage = ({ data }: MessageEvent<Response>) => this.hear(data);
    worker.onerror = (event) => this.fail(event.message || "its script could not be loaded");
    return worker;
  }

  /** Replaces a worker that failed. One that never answered gets a single successor. */
  private fail(reason: string): void {
    const fault = `The worker failed: ${reason}. Load the page again.`;
    if (this.isHeard) return this.replace(fault);
    this.worker.terminate();
    if (this.isSecond) {
      this.fault = fault;
      this.refuse(fault);
      return;
    }
    this.isSecond = true;
    this.worker = this.hired();
    if (this.job && !this.isDropped) this.take(this.job);
    else this.free();
  }

  private post(request: Request): void {
    this.worker.postMessage(request);
  }

  private watch(): void {
    const longest: Partial<Record<Task["kind"], number>> = { run: SILENCE_MS, explain: EXPLAINED_MS, qlog: READ_MS };
    const patience = (this.job && longest[this.job.task.kind]) ?? PATIENCE_MS;
    this.limit(patience, `Stopped: this took more than ${patience / 1000} s to read or set up.`);
  }

  private limit(patience: number, fault: string): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.replace(fault), patience);
  }

  private hear(response: Response): void {
    this.isHeard = true;
    this.isSecond = false;
    const job = this.job;
    if (!job || response.id !== job.id) return;
    if (this.isDropped) {
      if ("isBroken" in response && response.isBroken) this.replace(response.fault);
      else if (!("progress" in response)) this.free();
    } else if ("isDropped" in response) {
      this.free();
    } else if ("progress" in response) {
      this.watch();
      job.onProgress(response.progress);
    } else if ("result" in response) {
      this.memory = response.memory;
      this.free();
      job.resolve(response.result);
    } else if (response.isBroken) {
      this.replace(response.fault);
    } else {
      this.free();
      job.reject(new Fault(response.fault, response.problems));
    }
  }

  private replace(fault: string): void {
    this.worker.terminate();
    this.worker = this.hired();
    this.refuse(fault);
  }

  private refuse(fault: string): void {
    const job = this.isDropped ? undefined : this.job;
    this.free();
    job?.reject(new Fault(fault));
  }

  private free(): void {
    clearTimeout(this.timer);
    this.job = undefined;
    this.isDropped = false;
    this.onFree();
  }
}

/** The workers, and the requests that wait for one. */
export class Pool {
  private readonly hands: Hand[];
  private waiting: Job[] = [];
  private lastId = 0;
  private isEquipped = false;

  /** Start the workers. They serve requests once the module is there. */
  constructor(module: Promise<WebAssembly.Module>, script: string, count: number) {
    const hand = () => new Hand(script, () => this.assign());
    this.hands = Array.from({ length: count }, hand);
    void module.then(
      (own) => {
        for (const one of this.hands) one.equip(own);
        this.isEquipped = true;
        this.assign();
      },
      () => {
        // The owner of the promise reports its failure.
      },
    );
  }

  /** Check a scenario. */
  load(scenario: Scenario): Promise<Described> {
    return this.ask({ kind: "load", scenario }) as Promise<Described>;
  }

  /** Run controller number `control`; the summary is JSON. */
  run(scenario: Scenario, control: number, onProgress: (one: Progress) => void): Promise<string> {
    return this.ask({ kind: "run", scenario, control }, onProgress) as Promise<string>;
  }

  /** What the runs of a scenario mean, and the unavoidable delay of the link `focus`. */
  judge(scenario: Scenario, focus: string, runs: RunSummary[]): Promise<Judgement> {
    return this.ask({ kind: "judge", scenario, focus, runs }) as Promise<Judgement>;
  }

  /** The explanation of a file as JSON; `cures` asks for the effect of changes. */
  explain(file: File, cures: boolean, reader: WebAssembly.Module): Promise<string> {
    return this.ask({ kind: "explain", file, cures, reader }) as Promise<string>;
  }

  /** The figures and the samples of a qlog file. */
  readQlog(file: File, reader: WebAssembly.Module): Promise<QlogFigures> {
    return this.ask({ kind: "qlog", file, reader }) as Promise<QlogFigures>;
  }

  /** The JSON Schema of scenarios. */
  schema(): Promise<object> {
    return this.ask({ kind: "schema" }) as Promise<object>;
  }

  /** Drop all requests so far; their promises stay pending. */
  dropAll(): void {
    this.waiting = [];
    this.lastId += 1;
    for (const hand of this.hands) hand.drop(this.lastId);
  }

  /** Bytes of memory of all modules. */
  memory(): number {
    return this.hands.reduce((sum, hand) => sum + hand.memory, 0);
  }

  private ask(task: Task, onProgress: (one: Progress) => void = () => {}): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.lastId += 1;
      this.waiting.push({ id: this.lastId, task, onProgress, resolve, reject });
      this.assign();
    });
  }

  private assign(): void {
    if (!this.isEquipped) return;
    const hands = this.hands.filter((hand) => hand.fault === undefined);
    const fault = this.hands[0]?.fault;
    if (hands.length === 0 && fault !== undefined) {
      for (const job of this.waiting.splice(0)) job.reject(new Fault(fault));
    }
    for (const hand of hands) {
      const next = hand.job ? undefined : this.waiting.shift();
      if (next) hand.take(next);
    }
  }
}
