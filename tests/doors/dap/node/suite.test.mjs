// Microsoft's DebugClient drives the adapter through every capability that it tells of.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";

import testsupport from "@vscode/debugadapter-testsupport";

const folder = process.env.PITSTOP_FLOWS;
const shop = join(folder, "shop.yaml");
const broken = join(folder, "broken.yaml");
const failures = join(folder, "failures.yaml");

function lineOf(path, text) {
  return readFileSync(path, "utf8").split("\n").findIndex((line) => line.includes(text)) + 1;
}

let client;

beforeEach(async () => {
  client = new testsupport.DebugClient(process.env.PITSTOP_PYTHON, process.env.PITSTOP_TEE, "pitstop", {
    cwd: folder,
    env: process.env,
  });
  client.defaultTimeout = 100000; // a busy machine is no mistake of the adapter
  await client.start();
});

afterEach(() => client.stop());

/** Launch with breakpoints, and wait for the first stop. */
async function stopAt(program, lines, more = {}) {
  const [, , stopped] = await Promise.all([
    client.waitForEvent("initialized").then(async () => {
      const told = await client.setBreakpointsRequest({
        source: { path: program },
        breakpoints: lines.map((line) => (typeof line === "number" ? { line } : line)),
      });
      assert.ok(told.body.breakpoints.every((each) => each.verified));
      await client.setExceptionBreakpointsRequest({ filters: more.filters ?? [] });
      return client.configurationDoneRequest();
    }),
    client.launch({ program, ...more }),
    client.waitForEvent("stopped"),
  ]);
  return stopped.body;
}

async function frames(threadId = 1) {
  return (await client.stackTraceRequest({ threadId })).body.stackFrames;
}

/** Make a request that moves the run, and wait for the stop that it leads to. */
async function move(request) {
  const [stopped] = await Promise.all([client.waitForEvent("stopped"), request()]);
  return stopped.body;
}

test("a breakpoint is hit where it was moved to", async () => {
  const line = lineOf(shop, "id: last");
  await client.hitBreakpoint({ program: shop }, { path: shop, line: line + 1 }, { path: shop, line }, { path: shop, line });
});

test("a run is told from its first event to its last", async () => {
  await Promise.all([client.configurationSequence(), client.launch({ program: shop }), client.waitForEvent("terminated")]);
});

test("it stops on entry", async () => {
  await Promise.all([
    client.configurationSequence(),
    client.launch({ program: shop, stopOnEntry: true }),
    client.assertStoppedLocation("entry", { path: shop, line: lineOf(shop, "id: version") }),
  ]);
});

test("what steps write is output", async () => {
  await Promise.all([
    client.waitForEvent("initialized").then(async () => {
      await client.setExceptionBreakpointsRequest({ filters: [] });
      return client.configurationDoneRequest();
    }),
    client.launch({ program: broken }),
    client.assertOutput("stdout", "starting\nconnecting to 54321\n"),
    client.waitForEvent("exited").then((event) => assert.equal(event.body.exitCode, 1)),
  ]);
});

test("conditions, hit counts and log messages", async () => {
  const line = lineOf(shop, "id: turn");
  await stopAt(shop, [
    { line, condition: ".repeat.index >= 1", hitCondition: "2" },
    { line, logMessage: "turn {.repeat.index}" },
  ]);
  assert.equal((await frames())[0].name, "loop[2].turn");
});

test("a mode says where a breakpoint stops, and a filter which failures do", async () => {
  await stopAt(broken, [{ line: lineOf(broken, "id: start"), mode: "after" }], { filters: ["failed"] });
  const [first] = await frames();
  assert.equal(first.name, "start (after)");
  const stopped = await move(() => client.continueRequest({ threadId: 1 }));
  assert.equal(stopped.reason, "exception");
});

test("a stack is given in parts", async () => {
  const stopped = await stopAt(shop, [lineOf(shop, "id: left")]);
  const ask = (startFrame, levels) => client.stackTraceRequest({ threadId: stopped.threadId, startFrame, levels });
  const [first, rest] = [await ask(0, 1), await ask(1, 19)];
  assert.deepEqual([...first.body.stackFrames, ...rest.body.stackFrames].map((each) => each.name), ["checks.left", "checks", "shop"]);
  assert.deepEqual([first.body.totalFrames, rest.body.totalFrames], [3, 3]);
});

test("function breakpoints", async () => {
  await stopAt(shop, [7]);
  const told = await client.setFunctionBreakpointsRequest({ breakpoints: [{ name: "last" }] });
  const stopped = await move(() => client.continueRequest({ threadId: 1 }));
  assert.equal(stopped.reason, "function breakpoint");
  assert.deepEqual(stopped.hitBreakpointIds, [told.body.breakpoints[0].id]);
});

test("exception filters with conditions, and exception info", async () => {
  await stopAt(failures, [4]);
  await client.setExceptionBreakpointsRequest({
    filters: [],
    filterOptions: [{ filterId: "failed", condition: '.status == "timed_out"' }],
  });
  const stopped = await move(() => client.continueRequest({ threadId: 1 }));
  assert.equal(stopped.reason, "exception");
  const told = await client.exceptionInfoRequest({ threadId: stopped.threadId });
  assert.equal(told.body.exceptionId, "Timeout");
  assert.equal(told.body.breakMode, "always");
});

test("data breakpoints", async () => {
  await stopAt(shop, [lineOf(shop, "id: checks")]);
  const told = await client.dataBreakpointInfoRequest({ name: ".steps.last" });
  await client.setDataBreakpointsRequest({ breakpoints: [{ dataId: told.body.dataId }] });
  assert.equal((await move(() => client.continueRequest({ threadId: 1 }))).reason, "data breakpoint");
});

test("scopes, variables in pages, set variable and set expression", async () => {
  await stopAt(shop, [lineOf(shop, "id: last")]);
  const [frame] = await frames();
  const scopes = (await client.scopesRequest({ frameId: frame.id })).body.scopes;
  const vars = scopes.find((each) => each.name === "Vars").variablesReference;
  const prices = (await client.variablesRequest({ variablesReference: vars })).body.variables.find(
    (each) => each.name === "prices",
  );
  const page = await client.variablesRequest({
    variablesReference: prices.variablesReference,
    filter: "indexed",
    start: 1,
    count: 1,
  });
  assert.deepEqual(page.body.variables.map((each) => each.value), ["20"]);
  await client.setVariableRequest({ variablesReference: vars, name: "region", value: '"us"' });
  await client.customRequest("setExpression", { expression: ".vars.total", value: "7", frameId: frame.id });
  const value = await client.evaluateRequest({ expression: "[.vars.region, .vars.total]", frameId: frame.id });
  assert.equal(value.body.result, '["us", 7]');
});

test("evaluate in every context, and completions", async () => {
  await stopAt(shop, [7]);
  const [frame] = await frames();
  for (const [context, expression, result] of [
    ["watch", ".vars.prices | length", "3"],
    ["hover", "region", '"eu"'],
    ["repl", ".vars.region", '"eu"'],
    ["clipboard", ".vars.prices[0]", "100"],
  ]) {
    const told = await client.evaluateRequest({ expression, frameId: frame.id, context });
    assert.equal(told.body.result, result);
  }
  const found = await client.completionsRequest({ text: ".vars.", column: 7, frameId: frame.id });
  assert.deepEqual(found.body.targets.map((each) => each.label), ["region", "prices", "total"]);
});

test("next, step in with a target, step out, and single threads", async () => {
  await stopAt(shop, [7]);
  await move(() => client.nextRequest({ threadId: 1 }));
  const [frame] = await frames();
  assert.equal(frame.name, "checks");
  const targets = (await client.stepInTargetsRequest({ frameId: frame.id })).body.targets;
  const inside = await move(() => client.stepInRequest({ threadId: 1, targetId: targets[0].id }));
  assert.equal((await frames(inside.threadId))[0].name, "checks.left");
  const threads = (await client.threadsRequest()).body.threads.map((each) => each.name);
  assert.deepEqual(threads.filter((name) => name !== "checks.right"), ["main", "checks.left"]); // that one may have ended
  const after = await move(() => client.stepOutRequest({ threadId: inside.threadId, singleThread: true }));
  assert.ok(after.threadId !== inside.threadId);
});

test("step back, reverse continue, restart frame, goto", async () => {
  await stopAt(shop, [7]);
  await move(() => client.nextRequest({ threadId: 1 }));
  await move(() => client.stepBackRequest({ threadId: 1 }));
  assert.equal((await frames())[0].name, "version");
  await move(() => client.nextRequest({ threadId: 1 }));
  await move(() => client.reverseContinueRequest({ threadId: 1 }));
  assert.equal((await frames())[0].name, "version");
  const targets = await client.gotoTargetsRequest({ source: { path: shop }, line: lineOf(shop, "id: last") });
  const there = await move(() => client.gotoRequest({ threadId: 1, targetId: targets.body.targets[0].id }));
  assert.equal(there.reason, "goto");
  const stack = await frames();
  assert.equal(stack[0].name, "last");
  const again = await move(() => client.restartFrameRequest({ frameId: stack[1].id }));
  assert.equal(again.reason, "restart");
});

test("restart runs the flow as it is now", async () => {
  await stopAt(broken, [lineOf(broken, "id: connect")]);
  writeFileSync(broken, readFileSync(broken, "utf8").replace("54321", "5432"));
  await move(() => client.restartRequest({ arguments: { program: broken } }));
  assert.equal((await client.evaluateRequest({ expression: ".vars.port", context: "repl" })).body.result, "5432");
});

test("pause, terminate threads and terminate", async () => {
  const program = join(folder, "branches.yaml");
  const stopped = await stopAt(program, [lineOf(program, "id: quick_two")]);
  const [ended] = await Promise.all([
    client.waitForEvent("thread"),
    client.customRequest("terminateThreads", { threadIds: [stopped.threadId] }),
  ]);
  assert.equal(ended.body.reason, "exited");
  await Promise.all([client.waitForEvent("stopped"), client.pauseRequest({ threadId: 1 })]);
  await Promise.all([client.waitForEvent("terminated"), client.terminateRequest()]);
});

test("breakpoint locations, loaded sources, and sources by number", async () => {
  await stopAt(join(folder, "caller.yaml"), [3]);
  const found = await client.customRequest("breakpointLocations", { source: { path: join(folder, "called.yaml") }, line: 1, endLine: 9 });
  assert.deepEqual(found.body.breakpoints.map((each) => each.line), [5]);
  assert.equal((await client.customRequest("loadedSources", {})).body.sources.length, 2);
  await assert.rejects(client.sourceRequest({ sourceReference: 7 }));
});

test("a request is cancelled", async () => {
  await stopAt(shop, [7]);
  const [frame] = await frames();
  const endless = client.evaluateRequest({ expression: "[range(1e12)] | length", frameId: frame.id });
  await client.customRequest("cancel", { requestId: client.sequence - 1 });
  await assert.rejects(endless, /cancelled/);
});

test("disconnect leaves a run that is to go on", async () => {
  await stopAt(shop, [7]);
  await client.disconnectRequest({ terminateDebuggee: false });
  client = { stop: () => Promise.resolve() }; // it has left already
});

test("disconnect leaves a run standing", async () => {
  await stopAt(shop, [7]);
  await client.disconnectRequest({ suspendDebuggee: true });
  client = { stop: () => Promise.resolve() };
});
