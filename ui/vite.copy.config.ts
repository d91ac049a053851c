// The script and the style that a run's copy has in it: one file each, and no worker.
import { resolve } from "node:path";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const here = import.meta.dirname;

export default defineConfig({
  plugins: [
    react(),
    {
      name: "no-stream",
      enforce: "pre",
      resolveId: (source) => (source === "./stream/client" ? resolve(here, "src/copy/noStream.ts") : undefined),
    },
  ],
  build: {
    outDir: "../src/sonde/server/ui/copy",
    emptyOutDir: true,
    cssCodeSplit: false,
    modulePreload: false,
    rolldownOptions: {
      checks: { bundlerTimings: false },
      input: resolve(here, "src/copy/main.tsx"),
      output: { format: "iife", entryFileNames: "copy.js", assetFileNames: "copy[extname]" },
    },
  },
});
