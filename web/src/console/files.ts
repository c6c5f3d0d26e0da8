/** Giving the user a file, or text to paste. */

/** Let the browser save `content` as `name`. */
export function save(name: string, content: BlobPart, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has taken the content by then; without it the blob stays as long as the page.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** Put `text` on the clipboard; false where the browser does not allow it. */
export async function copy(text: string): Promise<boolean> {
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
    }
  }
  return copyFromField(text);
}

/** The old way, which also works on pages that are not secure. */
function copyFromField(text: string): boolean {
  const field = document.createElement("textarea");
  field.value = text;
  field.className = "hidden";
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  return copied;
}
