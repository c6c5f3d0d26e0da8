import { defineConfig } from "vite";

export default defineConfig({
  root: import.meta.dirname,
  base: "./",
  cacheDir: "../../node_modules/.vite",
  build: {
    outDir: "dist",
    target: "es2022",
    minify: false,
    lib: { entry: { index: "index.ts", sound: "sound/index.ts" }, formats: ["es"] },
    rolldownOptions: { external: [/^@noble\/hashes/] },
  },
});
