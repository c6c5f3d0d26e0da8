/** The frame: one column of work, one of numbers, one drawer. */

import { useEffect } from "preact/hooks";
import { settings } from "./address.ts";
import { Breaks } from "./Breaks.tsx";
import { Drawer } from "./Drawer.tsx";
import { Header } from "./Header.tsx";
import { Keys } from "./Keys.tsx";
import { later } from "./Later.tsx";
import { Listen } from "./Listen.tsx";
import { t } from "./language.ts";
import { Numbers } from "./Numbers.tsx";
import { Speak } from "./Speak.tsx";

const Operations = later(async () => (await import("./Operations.tsx")).Operations);

export function App() {
  const { page } = settings.value;
  const title = `${t(`nav.${page}`)} · Legato`;
  useEffect(() => {
    document.title = title;
  }, [title]);
  const wide = page === "operations";
  return (
    <>
      <Header />
      <div class={wide ? "body wide" : "body"}>
        <main class="work">
          {page === "speak" ? <Speak /> : null}
          {page === "listen" ? <Listen /> : null}
          {wide ? <Operations /> : null}
        </main>
        {wide ? null : (
          <aside class="side">
            <Numbers />
            <Breaks />
          </aside>
        )}
      </div>
      <Drawer />
      <Keys />
    </>
  );
}
