import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";

const page = Object.assign(new EventTarget(), { hash: "" });
vi.useFakeTimers();
vi.stubGlobal("location", page);
vi.stubGlobal("addEventListener", page.addEventListener.bind(page));
vi.stubGlobal("history", {
  replaceState: (_state: null, _title: string, fragment: string) => {
    page.hash = fragment;
  },
});
const { chosenLanguage, language } = await import("../../src/console/language.ts");
const { theme } = await import("../../src/console/theme.ts");
const { change, goTo, settings, startAddress } = await import("../../src/console/address.ts");

beforeAll(startAddress);
beforeEach(() => vi.advanceTimersByTime(1000));
afterAll(() => void vi.useRealTimers());

const arrive = () => page.dispatchEvent(new Event("hashchange"));

test("settings are written into the address a little later", () => {
  change({ speed: 1.5 });
  expect(page.hash).toBe("#/speak");
  vi.advanceTimersByTime(500);
  expect(page.hash).toBe("#/speak?speed=1.5");
  change({ speed: 1 });
  vi.advanceTimersByTime(500);
  expect(page.hash).toBe("#/speak");
});

test("the address is read when it changes", () => {
  page.hash = "#/listen?frame=200";
  arrive();
  expect(settings.value).toMatchObject({ page: "listen", frameMs: 200 });
  vi.advanceTimersByTime(500);
  expect(page.hash).toBe("#/listen?frame=200");
});

test("a page that was just asked for is not taken back by what was typed before", () => {
  goTo("speak");
  arrive();
  change({ text: "typed" });
  goTo("listen");
  vi.advanceTimersByTime(500); // the event is late
  expect(page.hash).toContain("#/listen");
  arrive();
  vi.advanceTimersByTime(500);
  expect(settings.value).toMatchObject({ page: "listen", text: "typed" });
  expect(page.hash).toContain("#/listen");
});

test("a language and a theme in a new address hold at once", async () => {
  page.hash = "#/speak?lang=zh&theme=dark";
  arrive();
  await vi.waitFor(() => expect(language.value).toBe("zh"));
  expect([chosenLanguage.value, theme.value]).toEqual(["zh", "dark"]);
  page.hash = "#/listen";
  arrive();
  expect([chosenLanguage.value, theme.value]).toEqual(["zh", "dark"]);
});
