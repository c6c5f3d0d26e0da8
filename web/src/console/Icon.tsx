/** The few pictures of the page, drawn in the colour of the text. */

const PATHS = {
  play: "M4 2.5v11l9-5.5z",
  stop: "M3.5 3.5h9v9h-9z",
  microphone:
    "M8 1.5a2.25 2.25 0 0 0-2.25 2.25v4a2.25 2.25 0 0 0 4.5 0v-4A2.25 2.25 0 0 0 8 1.5M3.5 7.5a4.5 4.5 0 0 0 9 0M8 12v2.5",
  save: "M8 2v8m-3.5-3L8 10.5 11.5 7M3 13.5h10",
  check: "M3 8.5 6.5 12 13 4.5",
  cross: "m4 4 8 8m0-8-8 8",
  up: "M8 13V3M4 7l4-4 4 4",
  system: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2v12",
  light:
    "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1m8 8 1 1M3 13l1-1m8-8 1-1",
  dark: "M13.5 9.5A6 6 0 1 1 6.5 2.5a5 5 0 0 0 7 7",
  question: "M5.5 5.5a2.5 2.5 0 1 1 3.5 2.3c-.7.4-1 .8-1 1.7M8 12.5v.01",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
