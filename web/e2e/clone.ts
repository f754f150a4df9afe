/** A real git client: a clone that commits and pushes to the server of the stories. */

import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { BIN, type Server } from "./server.ts";

const run = promisify(execFile);
const PERSON = { NAME: "Ada", EMAIL: "ada@example.org" };

/** For a user with an empty git config, and with the token of the server. */
function environmentFor(server: Server): NodeJS.ProcessEnv {
  const people = ["AUTHOR", "COMMITTER"].flatMap((who) =>
    Object.entries(PERSON).map(([what, is]) => [`GIT_${who}_${what}`, is]),
  );
  return {
    PATH: `${BIN}${delimiter}${process.env.PATH}`,
    HOME: server.folder,
    PITSTOP_HOME: join(server.folder, "home"),
    PITSTOP_SERVER: server.origin,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    ...Object.fromEntries(people),
  };
}

export class Clone {
  private constructor(
    readonly folder: string,
    readonly environment: NodeJS.ProcessEnv,
  ) {}

  /** An empty clone of a repository on the server, with the remote `pitstop`. */
  static async of(server: Server, repo: string): Promise<Clone> {
    const token = readFileSync(join(server.folder, "home/token"), "utf8").trim();
    const clone = new Clone(join(server.folder, `clone-of-${repo}`), {
      ...environmentFor(server),
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "http.extraHeader",
      GIT_CONFIG_VALUE_0: `Authorization: Bearer ${token}`,
    });
    await clone.#begin();
    await clone.git("remote", "add", "pitstop", `${server.origin}/git/${repo}.git`);
    return clone;
  }

  /** A work tree that the server knows nothing of, with a bare repository as its remote `origin`. */
  static async elsewhere(server: Server, name: string): Promise<Clone> {
    const clone = new Clone(join(server.folder, name), environmentFor(server));
    await clone.#begin();
    await clone.git("init", "--quiet", "--bare", "--initial-branch=main", clone.origin);
    await clone.git("remote", "add", "origin", clone.origin);
    return clone;
  }

  /** Where the remote `origin` of a work tree is, if it has one. */
  get origin(): string {
    return `${this.folder}-origin.git`;
  }

  async #begin(): Promise<void> {
    mkdirSync(this.folder, { recursive: true });
    await this.git("init", "--quiet", "--initial-branch=main");
  }

  /** The command line in this folder. */
  async pitstop(...words: string[]): Promise<string> {
    const { stdout } = await run(join(BIN, "pitstop"), words, { cwd: this.folder, env: this.environment });
    return stdout.trim();
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
