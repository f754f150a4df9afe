// The extension with a stand-in for VS Code, and the real adapter behind its factory.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import Module, { createRequire } from "node:module";
import { test } from "node:test";

const registered = { commands: {}, events: {} };
const started = [];
const decorations = [];
const errors = [];
const settings = { command: [process.env.PITSTOP_PYTHON ?? "python3", "-m", "pitstop"], showLastRun: true };

const FLOW = "name: shop\nsteps:\n  - id: build\n    run: make\n  - id: test\n    run: make test\n";
const document = { languageId: "yaml", uri: uri("/work/flow.yaml"), getText: () => FLOW };
const editor = { document, setDecorations: (_, shown) => decorations.push(shown) };

function uri(path) {
  return { fsPath: path, toString: () => `file://${path}` };
}

function listen(name) {
  return (heard) => {
    registered.events[name] = heard;
    return { dispose() {} };
  };
}

let associate;
const associated = new Promise((resolve) => (associate = (...given) => (resolve(given), true)));

const vscode = {
  DebugAdapterExecutable: class { constructor(command, args, options) { Object.assign(this, { command, args, options }); } },
  DebugAdapterServer: class { constructor(port) { this.port = port; } },
  DebugConfigurationProviderTriggerKind: { Dynamic: 2 },
  Range: class { constructor(...places) { this.places = places; } },
  CodeLens: class { constructor(range, command) { Object.assign(this, { range, command }); } },
  ThemeColor: class {},
  debug: {
    registerDebugAdapterDescriptorFactory: (type, factory) => Object.assign(registered, { factory, type }),
    registerDebugConfigurationProvider: (type, provider) => Object.assign(registered, { provider }),
    onDidStartDebugSession: listen("start"),
    onDidTerminateDebugSession: listen("end"),
    onDidReceiveDebugSessionCustomEvent: listen("custom"),
    startDebugging: (...given) => Promise.resolve(started.push(given) > 0),
  },
  languages: { registerCodeLensProvider: (_, lenses) => Object.assign(registered, { lenses }) },
  commands: {
    registerCommand: (name, act) => Object.assign(registered.commands, { [name]: act }),
    executeCommand: (...given) => Promise.resolve(Object.assign(registered, { context: given })),
  },
  extensions: {
    getExtension: (id) => (id === "redhat.vscode-yaml" ? { activate: async () => ({ registerContributor: associate }) } : undefined),
  },
  window: {
    activeTextEditor: editor,
    visibleTextEditors: [editor],
    createTextEditorDecorationType: () => ({ dispose() {} }),
    onDidChangeVisibleTextEditors: listen("visible"),
    onDidChangeActiveTextEditor: listen("active"),
    showInformationMessage: (text) => Promise.resolve(text),
    showErrorMessage: (text, button) => Promise.resolve(errors.push(text) && button),
  },
  workspace: {
    getConfiguration: () => ({ get: (name, usual) => settings[name] ?? usual }),
    getWorkspaceFolder: () => ({ uri: uri("/work") }),
    onDidChangeTextDocument: listen("text"),
    textDocuments: [document],
    workspaceFolders: [{ uri: uri("/work") }],
  },
};

const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));
const extension = createRequire(import.meta.url)("../dist/extension.js");
extension.activate({ subscriptions: [] });

test("the factory starts an adapter that answers", async () => {
  const told = registered.factory.createDebugAdapterDescriptor({ configuration: {}, workspaceFolder: undefined });
  assert.deepEqual(told.args.slice(-1), ["dap"]);
  const adapter = spawn(told.command, told.args, told.options);
  const body = JSON.stringify({ seq: 1, type: "request", command: "initialize", arguments: { adapterID: registered.type } });
  adapter.stdin.end(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  let answer = "";
  for await (const chunk of adapter.stdout) answer += chunk;
  assert.match(answer, /"supportsStepBack":true/);
});

test("the factory connects to a port that the configuration names", () => {
  const told = registered.factory.createDebugAdapterDescriptor({ configuration: { debugServer: 4711 } });
  assert.equal(told.port, 4711);
});

test("the folder is put into the command", () => {
  const before = settings.command;
  settings.command = ["${workspaceFolder}/.venv/bin/pitstop"];
  const told = registered.factory.createDebugAdapterDescriptor({ configuration: {}, workspaceFolder: { uri: uri("/work") } });
  settings.command = before;
  assert.deepEqual([told.command, told.args, told.options], ["/work/.venv/bin/pitstop", ["dap"], { cwd: "/work" }]);
});

test("without a launch.json the open flow is debugged", () => {
  const config = registered.provider.resolveDebugConfiguration({ uri: uri("/work") }, {});
  assert.deepEqual(
    [config.type, config.request, config.program, config.cwd, config.tellSteps],
    ["pitstop", "launch", "/work/flow.yaml", "/work", true],
  );
});

test("a program that is missing is an error message, and nothing is started", async () => {
  const before = settings.command;
  for (const program of ["/nowhere/pitstop", "no-such-pitstop"]) {
    settings.command = [program];
    assert.equal(registered.provider.resolveDebugConfiguration({ uri: uri("/work") }, {}), undefined);
    assert.match(errors.pop(), new RegExp(`no program ${program}`));
    await Promise.resolve();
    assert.deepEqual(registered.context, ["workbench.action.openSettings", "pitstop.command"]);
  }
  const elsewhere = registered.provider.resolveDebugConfiguration(undefined, { type: "pitstop", request: "launch", name: "x", debugServer: 4711 });
  settings.command = before;
  assert.equal(elsewhere.debugServer, 4711);
  assert.deepEqual(errors, []);
  registered.events.active();
});

test("a shell opens where the paused step works", async () => {
  const said = [];
  const customRequest = async (...given) => {
    if (said.push(given) > 1) throw new Error("not stopped");
  };
  vscode.debug.activeDebugSession = { type: "pitstop", customRequest };
  vscode.debug.activeStackItem = { frameId: 7 };
  await registered.commands["pitstop.openShell"]();
  assert.deepEqual(said, [["evaluate", { expression: "shell", context: "repl", frameId: 7 }]]);
  await registered.commands["pitstop.openShell"]();
  assert.equal(errors.pop(), "Cannot open a shell: not stopped");
  vscode.debug.activeDebugSession = { type: "node", customRequest };
  await registered.commands["pitstop.openShell"]();
  assert.equal(said.length, 2);
});

test("a flow has lenses above its steps, other YAML has none", () => {
  const shown = registered.lenses.provideCodeLenses(document);
  assert.deepEqual(shown.map((lens) => [lens.command.title, lens.range.places[0]]), [["Debug this flow", 1], ["Run", 1]]);
  const other = { ...document, getText: () => "on: push\njobs:\n  a:\n    steps:\n" };
  assert.deepEqual(registered.lenses.provideCodeLenses(other), []);
  const triggered = { ...document, getText: () => "name: ci\non:\n  push: {}\nsteps:\n  - run: make\n" };
  assert.equal(registered.lenses.provideCodeLenses(triggered)[0].range.places[0], 3);
  assert.deepEqual(registered.context, ["setContext", "pitstop.isFlow", true]);
});

test("the commands debug a flow, and run it", async () => {
  await registered.commands["pitstop.debugFlow"](document.uri);
  await registered.commands["pitstop.runFlow"](document.uri);
  assert.deepEqual(started.map(([, config, options]) => [config.program, options.noDebug]), [
    ["/work/flow.yaml", false],
    ["/work/flow.yaml", true],
  ]);
});

test("how a step ended stands beside it", () => {
  const session = { type: "pitstop" };
  registered.events.start(session);
  const body = { path: "checks.test", status: "failed", file: "/work/flow.yaml", line: 9, seconds: 0.42, error: "exit code 1\nlog" };
  registered.events.custom({ session, event: "pitstop/step", body });
  const [shown] = decorations.at(-1);
  assert.equal(shown.range.places[0], 4);
  assert.equal(shown.renderOptions.after.contentText, "✗ failed 0.4 s exit code 1");
});

test("the Python debugger is attached where the adapter says, once until it has ended", async () => {
  const session = { type: "pitstop", name: "Debug this flow", workspaceFolder: undefined };
  const enter = () => registered.events.custom({ session, event: "pitstop/python", body: { host: "127.0.0.1", port: 5678 } });
  const before = started.length;
  enter();
  enter();
  assert.equal(started.length, before + 1);
  const [, config, options] = started.at(-1);
  assert.deepEqual([config.type, config.request, config.connect], ["debugpy", "attach", { host: "127.0.0.1", port: 5678 }]);
  assert.equal(options.parentSession, session);
  registered.events.end({ type: "debugpy", name: config.name });
  enter();
  assert.equal(started.length, before + 2);
});

test("the schema of flows is told to the YAML extension", async () => {
  const [, schemaOf, schemaText] = await associated;
  assert.match(schemaOf("file:///work/flow.yaml"), /^pitstop-flow:/);
  assert.equal(schemaOf("file:///work/other.yaml"), undefined);
  assert.ok("steps" in JSON.parse(schemaText()).properties);
});
