import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../src/legato/console/static",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    // One file for all that is loaded at first: what is cut into pieces compresses worse.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            {
              name: "index",
              test: /^(?!.*(\/Operations\.tsx|\/cluster\.ts|\/Code\.tsx|\/code\.ts|\/words\.))/,
            },
          ],
        },
      },
    },
    assetsInlineLimit: 0,
  },
  server: { proxy: { "/v1": { target: "http://127.0.0.1:8440", ws: true } } },
  test: { include: ["tests/**/*.test.ts"], environment: "node" },
});
