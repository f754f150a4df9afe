import "@xterm/xterm/css/xterm.css";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import { useEffect, useRef } from "react";
import { api } from "@/api/client";
import type { ShellPlace } from "@/api/run-context";

type ShellTerminalProps = {
  run: string;
  place: ShellPlace;
  mode: "shell" | "sidecar";
  record: "screen" | null;
  isShown: boolean;
  onEnd: () => void;
};

function themeOf() {
  const css = getComputedStyle(document.documentElement);
  const colour = (name: string) => css.getPropertyValue(name).trim();
  const names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
  const palette = names.flatMap((name) => [
    [name, colour(`--ansi-${name}`)],
    [`bright${name[0]?.toUpperCase()}${name.slice(1)}`, colour(`--ansi-bright-${name}`)],
  ]);
  return {
    ...Object.fromEntries(palette),
    background: colour("--log-background"),
    foreground: colour("--log-text"),
    cursor: colour("--accent"),
    selectionBackground: `${colour("--accent")}44`,
  };
}

/** The font by its own name: the terminal measures it on a canvas, which knows no variables of the page. */
function fontOf(): string {
  return getComputedStyle(document.documentElement).getPropertyValue("--font-mono").trim() || "monospace";
}

function shellAt({ stop, step }: ShellPlace): { stop: number } | { step: string } {
  return stop === null ? { step } : { stop };
}

/** A shell takes every key, Tab too; this one is left to the page, so that there is a way out of it. */
function isWayOut({ key, ctrlKey }: KeyboardEvent): boolean {
  return ctrlKey && key.toLowerCase() === "k";
}

/** A terminal on a shell of the run. Leaving the page, or closing the tab, ends the shell. */
export function ShellTerminal({ run, place, mode, record, isShown, onEnd }: ShellTerminalProps) {
  const box = useRef<HTMLDivElement>(null);
  const terminal = useRef<Terminal | null>(null);
  const ended = useRef(onEnd);
  ended.current = onEnd;

  useEffect(() => {
    if (!box.current) return;
    const screen = new Terminal({
      fontFamily: fontOf(),
      fontSize: 12.5,
      theme: themeOf(),
      cursorBlink: true,
      scrollback: 5000,
    });
    screen.attachCustomKeyEventHandler((event) => !isWayOut(event));
    const fit = new FitAddon();
    screen.loadAddon(fit);
    screen.open(box.current);
    fit.fit();
    terminal.current = screen;
    let socket: WebSocket | null = null;
    let isLeft = false;
    const unsent: (string | Uint8Array<ArrayBuffer>)[] = []; // what is typed while it opens, and another size
    const say = (message: string | Uint8Array<ArrayBuffer>) => {
      if (socket?.readyState === WebSocket.OPEN) socket.send(message);
      else if ((socket?.readyState ?? WebSocket.CONNECTING) === WebSocket.CONNECTING) unsent.push(message);
    };

    const connect = async () => {
      try {
        const { token } = await api.shellToken(run, { ...shellAt(place), mode, record });
        if (isLeft) return;
        socket = new WebSocket(api.shellUrl(run, token, screen.rows, screen.cols));
        socket.binaryType = "arraybuffer";
        socket.addEventListener("message", ({ data }) => {
          if (data instanceof ArrayBuffer) screen.write(new Uint8Array(data));
        });
        socket.addEventListener("close", ({ reason }) => {
          screen.write(`\r\n\u001b[2m${reason || "the shell has ended"}\u001b[0m\r\n`);
          if (!isLeft) ended.current();
        });
        socket.addEventListener("open", () => {
          for (const message of unsent.splice(0)) say(message);
          screen.focus();
        });
      } catch (error) {
        screen.write(`\u001b[31m${(error as Error).message}\u001b[0m\r\n`);
        ended.current();
      }
    };
    const encoder = new TextEncoder();
    screen.onData((text) => say(encoder.encode(text)));
    screen.onResize(({ rows, cols }) => say(JSON.stringify({ resize: { rows, cols } })));
    const watching = new ResizeObserver(() => box.current?.clientWidth && fit.fit());
    watching.observe(box.current);
    const recoloring = new MutationObserver(() => {
      screen.options.theme = themeOf();
    });
    recoloring.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    void connect();
    return () => {
      isLeft = true;
      watching.disconnect();
      recoloring.disconnect();
      socket?.close();
      screen.dispose();
    };
  }, [run, place, mode, record]);

  useEffect(() => {
    if (isShown) terminal.current?.focus();
  }, [isShown]);

  return <div ref={box} className="size-full bg-log p-2" />;
}
