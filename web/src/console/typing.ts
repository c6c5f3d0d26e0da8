/** Text as a model writes it: word by word, at a pace. */

/** Pieces of `text`: each word with the space after it; of Chinese each character. */
export function pieces(text: string): string[] {
  return (
    text.match(
      /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}][\p{P}\s]*|[^\s\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]+\s*|\s+/gu,
    ) ?? []
  );
}

/** How many of `total` pieces are due `elapsed` seconds after the first, at `pace` a second. */
export function due(total: number, elapsed: number, pace: number): number {
  return Math.min(total, Math.floor(elapsed * pace) + 1);
}

/**
 * Say the pieces of `text` at `pace` a second, then `done`; returns what stops it.
 *
 * By the clock, not by the number of ticks: a tab in the background is called once a second, and
 * then says all that is due.
 */
export function type(
  text: string,
  pace: number,
  say: (piece: string) => void,
  done: () => void,
): () => void {
  const all = pieces(text);
  const began = performance.now();
  let said = 0;
  const tick = () => {
    const upto = due(all.length, (performance.now() - began) / 1000, pace);
    if (upto > said) say(all.slice(said, upto).join(""));
    said = upto;
    if (said < all.length) return;
    clearInterval(timer);
    done();
  };
  const timer = setInterval(tick, 1000 / Math.max(pace, 20));
  tick();
  return () => clearInterval(timer);
}
