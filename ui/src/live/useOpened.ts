/** In which order things were opened, the newest first. */

import { useState } from "react";

/** `shown` are names of what is open; null entries are not. */
export function useOpened(shown: readonly (string | null)[]): readonly string[] {
  const [order, setOrder] = useState<readonly string[]>([]);
  const next = inOrder(order, shown);
  if (next.join("\n") !== order.join("\n")) setOrder(next);
  return next;
}

export function inOrder(before: readonly string[], shown: readonly (string | null)[]): readonly string[] {
  const open = shown.filter((each) => each !== null);
  return [...open.filter((each) => !before.includes(each)), ...before.filter((each) => open.includes(each))];
}
