// The workers of the page, replaced by stand-ins: missing scripts, and requests that were dropped.
import assert from "node:assert/strict";
import test, { mock } from "node:test";
import { Pool } from "../../target/page-modules/pool.js";

/** Replaces `Worker`; `onHired` and `onMessage` get each stand-in. */
function workers(onHired, onMessage = () => {}) {
  const hired = [];
  globalThis.Worker = class {
    constructor() {
      hired.push(this);
      this.got = [];
      onHired(this);
    }
    postMessage(message) {
      this.got.push(message);
      onMessage(this, message);
    }
    terminate() {
      this.isOver = true;
    }
  };
  return hired;
}

const tick = () => new Promise((resolve) => setImmediate(resolve));
const ids = (worker) => worker.got.flatMap((message) => message.id ?? []);

test("a script that cannot be loaded is tried twice, and requests are refused", async () => {
  const hired = workers((worker) => setImmediate(() => worker.onerror({})));
  const pool = new Pool(Promise.resolve({}), "missing.js", 2);
  await assert.rejects(pool.schema(), /could not be loaded/);
  await tick();
  assert.equal(hired.length, 4);
  await assert.rejects(pool.schema(), /could not be loaded/);
  assert.equal(hired.length, 4);
});

test("a worker whose request was dropped gets the next one when it is free", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const hired = workers(() => {});
  const pool = new Pool(Promise.resolve({}), "worker.js", 1);
  await tick();
  void pool.schema();
  pool.dropAll();
  const second = pool.schema();
  assert.deepEqual(ids(hired[0]), [1]);
  hired[0].onmessage({ data: { id: 1, isDropped: true } });
  assert.deepEqual(ids(hired[0]), [1, 3]);
  hired[0].onmessage({ data: { id: 3, result: {}, memory: 0 } });
  assert.deepEqual(await second, {});
  // One that stays blocked is replaced, and the request goes to its successor.
  void pool.schema();
  pool.dropAll();
  const third = pool.schema();
  mock.timers.tick(1001);
  assert.ok(hired[0].isOver);
  const [id] = ids(hired[1]);
  hired[1].onmessage({ data: { id, result: { of: "the successor" }, memory: 0 } });
  assert.deepEqual(await third, { of: "the successor" });
  mock.timers.reset();
});
