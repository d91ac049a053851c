/** What a browser keeps for a page. Where it is forbidden to, the page remembers for itself while it is open. */

export type Keeping = "localStorage" | "sessionStorage";

const here = new Map<string, string>();

export function recall(keeping: Keeping, name: string): string | null {
  return allowed(() => globalThis[keeping].getItem(name)) ?? here.get(name) ?? null;
}

export function remember(keeping: Keeping, name: string, value: string): void {
  here.set(name, value);
  allowed(() => globalThis[keeping].setItem(name, value));
}

function allowed<T>(act: () => T): T | null {
  try {
    return act();
  } catch (error) {
    if (error instanceof DOMException) return null; // site data are blocked, or the storage is full
    throw error;
  }
}
