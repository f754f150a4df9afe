/** A real git client: a clone that commits and pushes to the server of the stories. */

import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import type { Server } from "./server.ts";

const run = promisify(execFile);

export class Clone {
  private constructor(
    readonly folder: string,
    readonly environment: NodeJS.ProcessEnv,
  ) {}

  /** An empty clone of a repository on the server, with the remote `pitstop`. */
  static async of(server: Server, repo: string): Promise<Clone> {
    const token = readFileSync(join(server.folder, "home/token"), "utf8").trim();
    const person = { NAME: "Ada", EMAIL: "ada@example.org" };
    const clone = new Clone(join(server.folder, `clone-of-${repo}`), {
      PATH: process.env.PATH,
      HOME: server.folder,
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_TERMINAL_PROMPT: "0",
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "http.extraHeader",
      GIT_CONFIG_VALUE_0: `Authorization: Bearer ${token}`,
      ...Object.fromEntries(
        ["AUTHOR", "COMMITTER"].flatMap((who) =>
          Object.entries(person).map(([what, is]) => [`GIT_${who}_${what}`, is]),
        ),
      ),
    });
    mkdirSync(clone.folder, { recursive: true });
    await clone.git("init", "--quiet", "--initial-branch=main");
    await clone.git("remote", "add", "pitstop", `${server.origin}/git/${repo}.git`);
    return clone;
  }

  async git(...words: string[]): Promise<string> {
    return (await run("git", ["-C", this.folder, ...words], { env: this.environment })).stdout.trim();
  }

  /** Commit some files. */
  async commit(message: string, files: Record<string, string> = {}): Promise<void> {
    for (const [name, text] of Object.entries(files)) {
      const path = join(this.folder, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    await this.git("add", "--all");
    await this.git("commit", "--quiet", "--allow-empty", "--message", message);
  }

  async push(...refs: string[]): Promise<void> {
    await this.git("push", "--quiet", "pitstop", ...(refs.length > 0 ? refs : ["main"]));
  }
}
