/** Among many buttons in a row with one tab stop: which one a key leads to; null when it leads nowhere. */
export function neighbour(key: string, at: number, n: number): number | null {
  if (key === "ArrowRight") return Math.min(at + 1, n - 1);
  if (key === "ArrowLeft") return Math.max(at - 1, 0);
  if (key === "Home") return 0;
  if (key === "End") return n - 1;
  return null;
}
