/** The lines of one log as they come: appended in pages, searched a slice at a time, read by index. */

import { stripAnsi } from "@/core/ansi";

export type BufferedLine = { number: number; stream: "stdout" | "stderr"; time: number; text: string };

const ERROR = /\b(error|failed|failure|fatal|exception|traceback|panic(ked)?|assert(ion)?error|not ok|E\s{3})\b/i;

export class LogBuffer {
  readonly lines: BufferedLine[] = [];
  #next = 1;

  get length(): number {
    return this.lines.length;
  }

  /** The number of the last whole line: what comes above it is still to be asked for. */
  get lastNumber(): number {
    return this.#next - 1;
  }

  /** Whole lines, as a page of the log has them; those that are known already are left out. */
  addLines(lines: readonly BufferedLine[]): void {
    for (const line of lines) {
      if (line.number < this.#next) continue;
      this.lines.push(line);
      this.#next = line.number + 1;
    }
  }

  /** The indices of lines with the text in them, from `from` on and at most `most` lines looked at: no long task. */
  search(text: string, from: number, most: number): { found: number[]; next: number } {
    const wanted = text.toLowerCase();
    const end = Math.min(this.lines.length, from + most);
    const found: number[] = [];
    for (let index = from; index < end; index++) {
      const line = this.lines[index];
      if (line && stripAnsi(line.text).toLowerCase().includes(wanted)) found.push(index);
    }
    return { found, next: end };
  }

  /** The index of the last line that looks like an error; that of the last on stderr without one; -1 for none. */
  findError(): number {
    let onStderr = -1;
    for (let index = this.lines.length - 1; index >= 0; index--) {
      const line = this.lines[index];
      if (!line) continue;
      if (ERROR.test(line.text)) return index;
      if (onStderr === -1 && line.stream === "stderr") onStderr = index;
    }
    return onStderr;
  }
}
