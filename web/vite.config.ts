import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";
import { compress } from "./dev/compress.ts";
import { recordedServer } from "./dev/recorded-server.ts";

// PITSTOP_URL names a running server; without it the application is served recorded runs.
const server = process.env.PITSTOP_URL;
const proxy = server ? { "/api": { target: server, ws: true }, "/login": { target: server } } : undefined;

export default defineConfig({
  plugins: [react(), tailwindcss(), compress(), ...(server ? [] : [recordedServer()])],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  server: { proxy },
  preview: { proxy },
  build: {
    outDir: "../src/pitstop/doors/http/web",
    emptyOutDir: true,
    chunkSizeWarningLimit: 700,
  },
  test: {
    environment: "happy-dom",
    include: ["src/**/*.test.{ts,tsx}"],
    setupFiles: ["dev/patience.ts"],
    restoreMocks: true,
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
