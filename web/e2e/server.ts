/** A real Pitstop server for the stories: a process with a home and flows of its own, to be killed and started again. */

import { type ChildProcess, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";

const ROOT = join(import.meta.dirname, "../..");
export const BIN = process.env.PYTHON ? dirname(process.env.PYTHON) : join(ROOT, ".venv/bin");
const LINK = /http:\S+\/login\?code=\S+/;

export class Server {
  #process: ChildProcess | null = null;
  /** Logs a browser in, once; every start makes another. */
  login = "";

  private constructor(
    readonly folder: string,
    readonly port: number,
  ) {}

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  static async start(flows = join(import.meta.dirname, "flows")): Promise<Server> {
    const folder = mkdtempSync(join(tmpdir(), "pitstop-web-"));
    cpSync(flows, join(folder, "flows"), { recursive: true });
    const server = new Server(folder, await freePort());
    await server.open();
    return server;
  }

  /** Start it where it was: at the same port, with what it has kept. */
  async open(): Promise<void> {
    const words = ["up", "--no-browser", "--port", `${this.port}`];
    const path = `${BIN}${delimiter}${process.env.PATH}`; // so that the commands it prints begin with `pitstop`
    const env = { ...process.env, PATH: path, PITSTOP_HOME: join(this.folder, "home"), PITSTOP_DB: "" };
    const child = spawn(join(BIN, "pitstop"), [...words, "--flows", join(this.folder, "flows")], {
      cwd: this.folder,
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#process = child;
    this.login = await new Promise((resolve, reject) => {
      child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
      createInterface({ input: child.stdout }).on("line", (line) => {
        const link = LINK.exec(line)?.[0];
        if (link) resolve(link);
      });
    });
  }

  /** End it as a power cut does: it can say and write nothing any more. */
  kill(): Promise<void> {
    return this.#end("SIGKILL");
  }

  async stop(): Promise<void> {
    await this.#end("SIGINT");
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20 }); // what it has started may be ending yet
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    this.#process = null;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await ended;
  }
}

/** Below what the system hands out by itself: while the server is down nobody is given its port by chance. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const isFree = await new Promise<boolean>((resolve) => {
      const probe = createServer().once("error", () => resolve(false));
      probe.listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}
