/** Handing something to the reader's machine. */

export function saveFile(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Browsers give the clipboard to secure pages only; loopback addresses count as such. */
export async function copyText(text: string): Promise<void> {
  if (!("clipboard" in navigator)) {
    throw new Error(
      "This browser gives no access to the clipboard over plain HTTP; select the text and copy it by hand.",
    );
  }
  await navigator.clipboard.writeText(text);
}
