/** Server-sent events read with `fetch`: every kind in one place, resumed after the last id, with patience in between. */

import { send } from "@/api/early";
import { noteAsking } from "@/api/visitor";

export type ServerEvent = { id: string | null; event: string; data: string };
export type Connection = "connecting" | "live" | "retrying" | "ended";

/** Cuts a stream of text into events; what is not complete waits for the next text. */
export class EventParser {
  #rest = "";

  push(text: string): ServerEvent[] {
    this.#rest += text.replaceAll("\r\n", "\n");
    const events: ServerEvent[] = [];
    let end = this.#rest.indexOf("\n\n");
    let from = 0;
    while (end !== -1) {
      const event = parseBlock(this.#rest.slice(from, end));
      if (event) events.push(event);
      from = end + 2;
      end = this.#rest.indexOf("\n\n", from);
    }
    this.#rest = this.#rest.slice(from);
    return events;
  }
}

function parseBlock(block: string): ServerEvent | null {
  const event: ServerEvent = { id: null, event: "message", data: "" };
  let hasData = false;
  for (const line of block.split("\n")) {
    if (line.startsWith(":")) continue;
    const colon = line.indexOf(":");
    const [name, value] = colon === -1 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
    if (name === "data") {
      event.data += hasData ? `\n${value}` : value;
      hasData = true;
    } else if (name === "event") event.event = value;
    else if (name === "id") event.id = value;
  }
  return hasData || event.event !== "message" ? event : null;
}

/** Seconds to wait before try number `failures`: quickly at first, never longer than ten, spread so that tabs do not march in step. */
export function retryDelaySeconds(failures: number, random: () => number = Math.random): number {
  return Math.min(10, 0.25 * 2 ** Math.min(failures, 8)) * (0.5 + random() / 2);
}

export type FollowOptions = {
  url: string;
  onEvents: (events: ServerEvent[]) => void;
  onConnection: (connection: Connection, retryAt: number | null) => void;
  /** Whether a stream that the server closes is followed again without an `end` event. */
  isLasting?: boolean;
};

const SILENCE_SECONDS = 40; // the server says something every 15

/** Follow a stream until it ends with `event: end` or the result is called. */
export function follow({ url, onEvents, onConnection, isLasting = true }: FollowOptions): () => void {
  const closing = new AbortController();
  let lastId: string | null = null;
  let failures = 0;
  let wake: (() => void) | null = null;

  const read = async (): Promise<"end" | "closed"> => {
    const reading = new AbortController();
    const stop = () => reading.abort();
    closing.signal.addEventListener("abort", stop);
    let silence = setTimeout(stop, SILENCE_SECONDS * 1000);
    try {
      const headers: Record<string, string> = { accept: "text/event-stream" };
      if (lastId !== null) headers["last-event-id"] = lastId;
      const note = noteAsking();
      const response = await send(url, { headers, signal: reading.signal });
      note(response.status);
      if (!response.ok || !response.body) throw new StreamRefused(response.status);
      onConnection("live", null);
      const parser = new EventParser();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return "closed";
        failures = 0;
        clearTimeout(silence);
        silence = setTimeout(stop, SILENCE_SECONDS * 1000);
        const events = parser.push(value);
        for (const event of events) lastId = event.id ?? lastId;
        const end = events.findIndex((event) => event.event === "end");
        const told = end === -1 ? events : events.slice(0, end);
        if (told.length > 0) onEvents(told);
        if (end !== -1) return "end";
      }
    } finally {
      clearTimeout(silence);
      closing.signal.removeEventListener("abort", stop);
      reading.abort();
    }
  };

  const run = async () => {
    onConnection("connecting", null);
    while (!closing.signal.aborted) {
      try {
        const how = await read();
        if (how === "end" || !isLasting) break;
      } catch (error) {
        if (error instanceof StreamRefused && error.isFinal) break;
      }
      if (closing.signal.aborted) return;
      const seconds = retryDelaySeconds(failures++);
      onConnection("retrying", Date.now() + seconds * 1000);
      await new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, seconds * 1000);
      });
    }
    if (!closing.signal.aborted) onConnection("ended", null);
  };

  const hurry = () => wake?.();
  window.addEventListener("online", hurry);
  void run();
  return () => {
    window.removeEventListener("online", hurry);
    closing.abort();
    wake?.();
  };
}

class StreamRefused extends Error {
  constructor(readonly status: number) {
    super(`the server refused the stream with status ${status}`);
  }

  get isFinal(): boolean {
    return this.status >= 400 && this.status < 500 && this.status !== 429;
  }
}
