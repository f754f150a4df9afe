import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

/** Who may import whom: app joins features, features use ui and api, and everybody uses core. */
const MAY_IMPORT: Record<string, readonly string[]> = {
  app: ["app", "features", "ui", "api", "core"],
  features: ["ui", "api", "core"],
  ui: ["ui", "core"],
  api: ["api", "core"],
  core: ["core"],
};

const sources = readdirSync(import.meta.dirname, { recursive: true, encoding: "utf8" }).filter((file) =>
  /\.tsx?$/.test(file),
);

/** A feature is a room of its own: none imports another. */
function roomOf(file: string): string {
  const [room, feature] = file.split("/");
  return room === "features" ? `features/${feature}` : (room ?? "");
}

test("each room imports only what it may", () => {
  const broken: string[] = [];
  for (const file of sources.filter((each) => each.includes("/"))) {
    const text = readFileSync(join(import.meta.dirname, file), "utf8");
    const own = roomOf(file);
    for (const [, imported] of text.matchAll(/(?:from|import\()\s*"@\/([^"]+)"/g)) {
      const other = roomOf(imported ?? "");
      const allowed = MAY_IMPORT[own.split("/")[0] ?? ""] ?? [];
      if (other !== own && !allowed.includes(other.split("/")[0] ?? "")) broken.push(`${file} imports ${imported}`);
    }
  }
  expect(sources.length).toBeGreaterThan(50);
  expect(broken).toEqual([]);
});

test("core draws nothing and sends no requests", () => {
  for (const file of sources.filter((each) => each.startsWith("core/") && !each.includes(".test."))) {
    expect(readFileSync(join(import.meta.dirname, file), "utf8"), file).not.toMatch(
      /from "react"|fetch\(|document\.|window\./,
    );
  }
});
