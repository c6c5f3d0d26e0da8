/** Lines of bounded length, broken where Python's `textwrap.wrap` breaks them. */

const WHITE = "[\\t\\n\\x0b\\x0c\\r ]";
const OTHER = "[^\\t\\n\\x0b\\x0c\\r ]";
const WORD = "[\\p{L}\\p{N}_]";
const LETTER = "[\\p{L}\\p{Nl}\\p{No}_]";
const PUNCTUATED = "[\\p{L}\\p{N}_!\"'&.,?]";

/** Spaces, dashes between words, and words, which may end at a hyphen: `TextWrapper.wordsep_re`. */
const PIECES = new RegExp(
  `(${WHITE}+` +
    `|(?<=${PUNCTUATED})-{2,}(?=${WORD})` +
    `|${OTHER}+?(?:` +
    `-(?:(?<=${LETTER}{2}-)|(?<=${LETTER}-${LETTER}-))(?=${LETTER}-?${LETTER})` +
    `|(?=${WHITE}|$)` +
    `|(?<=${PUNCTUATED})(?=-{2,}${WORD})))`,
  "u",
);

/** What Unicode takes for a space, as Python's `str.strip` and `str.split` do. */
export const SPACE =
  "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]";
const SPACE_ONLY = new RegExp(`^${SPACE}*$`, "u");
const ANY_WHITE = new RegExp(WHITE, "gu");

const TAB = 8;

/** `text` as lines of `width` characters at the most; characters are code points. */
export function wrapped(text: string, width: number): string[] {
  const plain = expanded(text).replace(ANY_WHITE, " ");
  const pieces = plain
    .split(PIECES)
    .filter(Boolean)
    .map((piece) => [...piece])
    .reverse();
  const lines: string[] = [];
  while (pieces.length > 0) {
    if (lines.length > 0 && isSpace(pieces.at(-1))) pieces.pop();
    const line = taken(pieces, width);
    if (isSpace(line.at(-1))) line.pop();
    if (line.length > 0) lines.push(line.flat().join(""));
  }
  return lines;
}

/** Take off the pieces that fit a line, the last ones first; a word longer than a line is cut. */
function taken(pieces: string[][], width: number): string[][] {
  const line: string[][] = [];
  let room = width;
  for (let next = pieces.at(-1); next && next.length <= room; next = pieces.at(-1)) {
    line.push(next);
    pieces.pop();
    room -= next.length;
  }
  const long = pieces.at(-1);
  if (long && long.length > width) {
    const hyphen = room > 0 ? long.lastIndexOf("-", room - 1) : -1;
    const isBreak = hyphen > 0 && long.slice(0, hyphen).some((character) => character !== "-");
    const end = isBreak ? hyphen + 1 : room;
    line.push(long.slice(0, end));
    pieces[pieces.length - 1] = long.slice(end);
  }
  return line;
}

function isSpace(piece: readonly string[] | undefined): boolean {
  return piece !== undefined && SPACE_ONLY.test(piece.join(""));
}

/** Tabs as spaces up to the next column that 8 divides, as `str.expandtabs`. */
function expanded(text: string): string {
  let column = 0;
  let out = "";
  for (const character of text) {
    const spaces = TAB - (column % TAB);
    out += character === "\t" ? " ".repeat(spaces) : character;
    if (character === "\t") column += spaces;
    else column = character === "\n" || character === "\r" ? 0 : column + 1;
  }
  return out;
}
