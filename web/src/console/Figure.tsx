/** A number with its unit beside it, lighter. */

import type { Figure } from "./figures.ts";

export function Figures({ figure }: { figure: Figure | undefined }) {
  return (
    <>
      {figure?.number ?? "–"}
      <span class="unit">{figure?.unit ?? ""}</span>
    </>
  );
}
