/** Cards by the API: what the boards of the stories and the pictures begin with. */

import { join } from "node:path";
import { expect } from "vitest";
import { Clone } from "./clone.ts";
import { BIN } from "./server.ts";
import { PATIENCE, type Stage } from "./stage.ts";

type Card = { id: string; status: string; branch: string; head_sha: string; run: string | null };

export class CardBench {
  private constructor(
    readonly stage: Stage,
    readonly repo: string,
    readonly clone: Clone,
  ) {}

  /** A repository with some files on its default branch. */
  static async of(stage: Stage, repo: string, files: Record<string, string>): Promise<CardBench> {
    const bench = new CardBench(stage, repo, await Clone.of(stage.server, repo));
    await bench.ask("POST", "/repos", { name: repo });
    await bench.change("Sell things", files);
    return bench;
  }

  async ask<Answer = Card>(method: string, path: string, data?: object): Promise<Answer> {
    const { server, context } = this.stage;
    const headers = { origin: server.origin };
    const answer = await context.request.fetch(`${server.origin}/api/v1${path}`, { method, headers, data });
    expect(answer.ok(), await answer.text()).toBe(true);
    return (await answer.json()) as Answer;
  }

  /** Commit to the default branch, and push. */
  async change(message: string, files: Record<string, string>): Promise<void> {
    await this.clone.commit(message, files);
    await this.clone.push();
  }

  create(title: string, more: object = {}): Promise<Card> {
    return this.ask("POST", `/repos/${this.repo}/cards`, { title, ...more });
  }

  /** A card in review, with what a person has pushed to its branch. */
  async reviewed(title: string, files: Record<string, string>, more: object = {}): Promise<Card> {
    const { id } = await this.create(title, more);
    const { branch } = await this.ask("POST", `/cards/${id}/move`, { status: "in_progress" });
    await this.clone.git("fetch", "--quiet", "pitstop");
    await this.clone.git("checkout", "--quiet", "-B", branch, `pitstop/${branch}`);
    await this.clone.commit(title, files);
    await this.clone.push(branch);
    await this.clone.git("checkout", "--quiet", "main");
    return this.ask("POST", `/cards/${id}/move`, { status: "in_review" });
  }

  approve({ id, head_sha }: Card): Promise<Card> {
    return this.ask("POST", `/cards/${id}/approve`, { expect: head_sha });
  }

  /** Approve a card that conflicts with its base, which the card then shows. */
  async conflict(card: Card): Promise<void> {
    const { server, context } = this.stage;
    const answer = await context.request.post(`${server.origin}/api/v1/cards/${card.id}/approve`, {
      headers: { origin: server.origin },
      data: { expect: card.head_sha },
    });
    expect(answer.status()).toBe(409);
  }

  /** The card once its work has got it there. */
  async waitFor({ id }: Pick<Card, "id">, status: string): Promise<Card> {
    await expect
      .poll(async () => (await this.ask("GET", `/cards/${id}`)).status, { timeout: PATIENCE, interval: 100 })
      .toBe(status);
    return this.ask("GET", `/cards/${id}`);
  }

  /** Waits until the run of a card is paused or running. */
  async waitForRun({ id }: Pick<Card, "id">, status: string): Promise<void> {
    const read = async () => (await this.ask<{ run_status: string | null }>("GET", `/cards/${id}`)).run_status;
    await expect.poll(read, { timeout: PATIENCE, interval: 100 }).toBe(status);
  }
}

/** The profile of an agent that acts out a script, which is a file of the machine. */
export function scriptedProfile(script: string): string {
  const words = [join(BIN, "python"), join(import.meta.dirname, "../../tests/agents/scripted.py"), "--script", script];
  return `extends: claude\ncommand: ${JSON.stringify(words)}\nsecrets: []\napi: null\nenv: {}\n`;
}
