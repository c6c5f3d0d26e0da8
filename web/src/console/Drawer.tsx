/** Events and code, open on demand. */

import { useEffect, useRef } from "preact/hooks";
import { open, type Part, toggle } from "./drawer.ts";
import { Events, EventTools, Glance } from "./Events.tsx";
import { later } from "./Later.tsx";
import { t } from "./language.ts";

const Code = later(async () => (await import("./Code.tsx")).Code);
const CodeTools = later(async () => (await import("./Code.tsx")).CodeTools);

export function Drawer() {
  const part = open.value;
  const bottom = useRef<HTMLElement>(null);
  useEffect(() => {
    if (part !== undefined) bottom.current?.scrollIntoView({ block: "nearest" });
  }, [part]);
  return (
    <section class="drawer" ref={bottom} aria-label={t("drawer.label")}>
      <div class="drawer-head">
        <Tab part="events" />
        <Tab part="code" />
        {part === undefined ? <Glance /> : null}
        {part === "events" ? <EventTools /> : null}
        {part === "code" ? <CodeTools /> : null}
      </div>
      {part === "events" ? <Events /> : null}
      {part === "code" ? <Code /> : null}
    </section>
  );
}

function Tab({ part }: { part: Part }) {
  return (
    <button
      type="button"
      class="tab"
      aria-expanded={open.value === part}
      onClick={() => toggle(part)}
    >
      {t(`drawer.${part}`)}
    </button>
  );
}
