/** Handing something to the reader's machine. */

export function saveFile(blob: Blob, name: string): void {
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Rows as a file for spreadsheets. A text that would be a formula there is kept from being one. */
export function csvFile(rows: readonly (readonly string[])[]): Blob {
  return new Blob([csvText(rows)], { type: "text/csv" });
}

export function csvText(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => `${row.map(field).join(",")}\r\n`).join("");
}

function field(text: string): string {
  const number = text !== "" && Number.isFinite(Number(text));
  const safe = !number && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
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
