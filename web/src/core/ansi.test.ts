import { expect, test } from "vitest";
import { parseAnsi, stripAnsi } from "@/core/ansi";

const E = "\u001b[";

test("plain text is one span without a style", () => {
  expect(parseAnsi("hello")).toEqual([{ text: "hello", style: null }]);
  expect(parseAnsi("")).toEqual([]);
});

test("colours and weight begin and end where they say", () => {
  expect(parseAnsi(`a ${E}1;31mred${E}0m b`)).toEqual([
    { text: "a ", style: null },
    { text: "red", style: { bold: true, color: "var(--ansi-red)" } },
    { text: " b", style: null },
  ]);
});

test("256 colours and true colours", () => {
  expect(parseAnsi(`${E}38;5;196mx`)[0]?.style?.color).toBe("rgb(255 0 0)");
  expect(parseAnsi(`${E}38;5;9mx`)[0]?.style?.color).toBe("var(--ansi-bright-red)");
  expect(parseAnsi(`${E}48;2;1;2;3mx`)[0]?.style?.background).toBe("rgb(1 2 3)");
});

test("a progress bar shows its last state", () => {
  expect(stripAnsi("10%\r50%\r100%\r")).toBe("100%");
});

test("what moves the cursor or names a window is not shown", () => {
  expect(stripAnsi(`${E}2K${E}1Gdone\u001b]0;title\u0007!`)).toBe("done!");
});
