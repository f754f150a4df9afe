import { expect, test } from "vitest";
import { changedInput, editableInput, patchIn } from "@/core/call-input";

const input = { command: "ls", timeout: 5, flags: { all: true } };

test("strings are edited as they are, everything else as JSON, and only what was changed is sent", () => {
  const texts = editableInput(input);
  expect(texts).toEqual({ command: "ls", timeout: "5", flags: '{\n  "all": true\n}' });
  expect(changedInput(input, texts)).toEqual({ changed: {}, problems: {} });
  expect(changedInput(input, { ...texts, command: "7", timeout: "7" })).toEqual({
    changed: { command: "7", timeout: 7 },
    problems: {},
  });
});

test("a text that is no JSON is named by its field", () => {
  const { changed, problems } = changedInput(input, { ...editableInput(input), timeout: "soon" });
  expect(changed).toEqual({});
  expect(problems.timeout).toMatch(/^Invalid JSON: /);
});

test("an edit is told as a patch, whichever way the agent writes it", () => {
  expect(patchIn({ file_path: "a", old_string: "one\ntwo", new_string: "1" })).toEqual({
    lines: "-one\n-two\n+1",
    fields: ["old_string", "new_string"],
  });
  expect(patchIn({ command: "*** Begin Patch\n+x" })).toEqual({ lines: "*** Begin Patch\n+x", fields: ["command"] });
  expect(patchIn({ command: "ls" })).toBeNull();
});
