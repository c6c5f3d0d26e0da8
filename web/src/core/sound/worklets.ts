/** Where the built worklets are: files of their own beside the page, as a strict CSP wants. */

import captureUrl from "./capture.worklet.ts?worker&url";
import playoutUrl from "./playout.worklet.ts?worker&url";

export { captureUrl, playoutUrl };
