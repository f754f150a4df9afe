import { defineConfig } from "vitest/config";

export default defineConfig({
  root: import.meta.dirname,
  test: {
    environment: "node",
    include: ["*.story.ts"],
    testTimeout: 240_000, // a busy machine may stand still for a while
    hookTimeout: 240_000,
    fileParallelism: false,
  },
});
