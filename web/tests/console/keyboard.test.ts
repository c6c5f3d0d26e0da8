import { expect, test, vi } from "vitest";

// The module reads the address and opens the page's client when it is loaded.
vi.stubGlobal("location", {
  hash: "",
  href: "http://127.0.0.1:1/",
  protocol: "http:",
  host: "127.0.0.1:1",
});
vi.stubGlobal("document", { baseURI: "http://127.0.0.1:1/" });
const { actOf } = await import("../../src/console/keyboard.ts");

const bare = { modified: false, typing: false, pressable: false, bare: true };

test.each([
  ["Escape", "stop"],
  ["Enter", "say"],
  [" ", "talk"],
  ["2", "listen"],
  ["x", "cut"],
  ["?", "help"],
  ["q", undefined],
] as const)("%j does %s", (key, act) => {
  expect(actOf({ ...bare, key })).toBe(act);
});

test("while one types, only Escape is the page's", () => {
  expect(actOf({ ...bare, typing: true, key: " " })).toBeUndefined();
  expect(actOf({ ...bare, typing: true, key: "x" })).toBeUndefined();
  expect(actOf({ ...bare, typing: true, key: "Escape" })).toBe("stop");
});

test("Space presses the button that has the focus", () => {
  expect(actOf({ ...bare, pressable: true, key: " " })).toBeUndefined();
  expect(actOf({ ...bare, pressable: true, key: "x" })).toBe("cut");
});

test("Enter belongs to whatever has the focus", () => {
  expect(actOf({ ...bare, bare: false, key: "Enter" })).toBeUndefined();
  expect(actOf({ ...bare, bare: false, key: "x" })).toBe("cut");
});

test("keys with Ctrl, Alt or Command, and those that choose a character, are not the page's", () => {
  expect(actOf({ ...bare, modified: true, key: "c" })).toBeUndefined();
  expect(actOf({ ...bare, modified: true, key: "Escape" })).toBeUndefined();
});
