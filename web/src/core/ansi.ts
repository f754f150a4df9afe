/** Text with ANSI escape sequences as spans with a style: colours, bold, dim, italic, underline, inverse. */

export type Span = { text: string; style: SpanStyle | null };

export type SpanStyle = {
  color?: string;
  background?: string;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  strike?: boolean;
};

const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences are what this is about
const ESCAPE = /\u001b\[([0-9;:]*)([A-Za-z])|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)|\u001b[@-Z\\-_]/g;

/** A name is one of the 16 colours of the theme; anything else is CSS. */
function paletteColor(index: number): string {
  if (index < 16) return `var(--ansi-${index < 8 ? "" : "bright-"}${NAMES[index % 8]})`;
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10;
    return `rgb(${grey} ${grey} ${grey})`;
  }
  const cube = index - 16;
  const level = (step: number) => (step === 0 ? 0 : 55 + step * 40);
  return `rgb(${level(Math.floor(cube / 36))} ${level(Math.floor(cube / 6) % 6)} ${level(cube % 6)})`;
}

type Pen = SpanStyle & { inverse?: boolean };

function applyCodes(pen: Pen, codes: number[]): Pen {
  let next: Pen = { ...pen };
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at] ?? 0;
    if (code === 0) next = {};
    else if (code === 1) next.bold = true;
    else if (code === 2) next.dim = true;
    else if (code === 3) next.italic = true;
    else if (code === 4) next.underline = true;
    else if (code === 7) next.inverse = true;
    else if (code === 9) next.strike = true;
    else if (code === 22) next.bold = next.dim = false;
    else if (code === 23) next.italic = false;
    else if (code === 24) next.underline = false;
    else if (code === 27) next.inverse = false;
    else if (code === 29) next.strike = false;
    else if (code >= 30 && code <= 37) next.color = paletteColor(code - 30);
    else if (code >= 40 && code <= 47) next.background = paletteColor(code - 40);
    else if (code >= 90 && code <= 97) next.color = paletteColor(code - 82);
    else if (code >= 100 && code <= 107) next.background = paletteColor(code - 92);
    else if (code === 39) next.color = undefined;
    else if (code === 49) next.background = undefined;
    else if (code === 38 || code === 48) {
      const key = code === 38 ? "color" : "background";
      if (codes[at + 1] === 5) {
        next[key] = paletteColor(codes[at + 2] ?? 0);
        at += 2;
      } else if (codes[at + 1] === 2) {
        next[key] = `rgb(${codes[at + 2] ?? 0} ${codes[at + 3] ?? 0} ${codes[at + 4] ?? 0})`;
        at += 4;
      }
    }
  }
  return next;
}

function styleOf(pen: Pen): SpanStyle | null {
  const { inverse, ...style } = pen;
  const shown: SpanStyle = inverse
    ? { ...style, color: style.background ?? "var(--log-background)", background: style.color ?? "var(--log-text)" }
    : style;
  return Object.values(shown).some(Boolean) ? shown : null;
}

/** A line as spans. A carriage return begins the line anew, as a progress bar means it. */
export function parseAnsi(line: string): Span[] {
  const text = afterLastReturn(line);
  if (!text.includes("\u001b")) return text === "" ? [] : [{ text, style: null }];
  const spans: Span[] = [];
  let pen: Pen = {};
  let at = 0;
  const take = (end: number) => {
    if (end > at) spans.push({ text: text.slice(at, end), style: styleOf(pen) });
  };
  for (const match of text.matchAll(ESCAPE)) {
    take(match.index);
    at = match.index + match[0].length;
    if (match[2] === "m") pen = applyCodes(pen, (match[1] || "0").split(/[;:]/).map(Number));
  }
  take(text.length);
  return spans;
}

/** The text alone, for search and for copying. */
export function stripAnsi(line: string): string {
  const text = afterLastReturn(line);
  return text.includes("\u001b") ? text.replace(ESCAPE, "") : text;
}

function afterLastReturn(line: string): string {
  const text = line.endsWith("\r") ? line.slice(0, -1) : line;
  return text.slice(text.lastIndexOf("\r") + 1);
}
