// Builds into the Python package, which serves it; in development, passes the API on to a server.
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = process.env.SONDE_URL ?? "http://127.0.0.1:8091";
const api = ["/v1", "/api", "/tokenize", "/detokenize", "/health", "/ready", "/docs", "/openapi.json"];

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../src/sonde/server/ui",
    emptyOutDir: true,
    assetsInlineLimit: 0, // the content security policy allows no inline scripts
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
    rolldownOptions: { checks: { bundlerTimings: false } }, // a busy machine is no fault of a plugin
  },
  server: { proxy: Object.fromEntries(api.map((path) => [path, server])) },
  test: {
    include: ["src/**/*.test.{ts,tsx}", "tests/**/*.test.ts"],
    environment: "node",
    isolate: false, // one process for all files takes a quarter of the time
    unstubGlobals: true,
  },
});
