/** What the page remembers on this device: choices of the look, never text or audio. */

type Name = "language" | "theme" | "drawer";

/** Storage may be forbidden to the page; choices then last as long as the page. */
export const store = {
  read(name: Name): string | undefined {
    try {
      return localStorage.getItem(`legato.${name}`) ?? undefined;
    } catch (error) {
      return refused(error);
    }
  },
  write(name: Name, value: string): void {
    try {
      localStorage.setItem(`legato.${name}`, value);
    } catch (error) {
      refused(error);
    }
  },
};

function refused(error: unknown): undefined {
  if (!(error instanceof DOMException)) throw error;
  return undefined;
}
