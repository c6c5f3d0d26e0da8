/** Start the page. */

import { render } from "preact";
import { App } from "./App.tsx";
import { startAddress } from "./address.ts";
import { loadCatalog } from "./catalog.ts";
import { client } from "./connection.ts";
import { startDrawer } from "./drawer.ts";
import { keysShown } from "./Keys.tsx";
import { startKeyboard } from "./keyboard.ts";
import { startLanguage } from "./language.ts";
import * as listening from "./listening.ts";
import * as speaking from "./speaking.ts";
import { startTheme } from "./theme.ts";
import "./style/tokens.css";
import "./style/frame.css";
import "./style/controls.css";
import "./style/sound.css";
import "./style/numbers.css";
import "./style/drawer.css";
import "./style/operations.css";

startAddress();
startTheme();
startDrawer();
startKeyboard(() => {
  keysShown.value = true;
});
speaking.followLink();
listening.followLink();
void loadCatalog();
client.connect();

const place = document.getElementById("app");
if (place) {
  await startLanguage().then(
    () => render(<App />, place),
    (error: unknown) => {
      // Its words are what is missing, so it says so in both languages.
      place.textContent = "The page did not load whole. Reload it. 页面没有加载完整，请刷新。";
      throw error;
    },
  );
}
