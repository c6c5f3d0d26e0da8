import { expect, test } from "vitest";
import { nextTheme, shade, theme } from "../../src/console/theme.ts";

test("the first press shows, and three of them lead back to the system's theme", () => {
  const seen = [];
  for (let press = 0; press < 3; press += 1) {
    theme.value = nextTheme(theme.value);
    seen.push([theme.value, shade.value]);
  }
  expect(seen).toEqual([
    ["dark", "dark"],
    ["light", "light"],
    ["system", "light"],
  ]);
});
