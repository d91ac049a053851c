/** The width of an element, as it changes. */

import { useEffect, useState, type RefObject } from "react";

export function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const found = element.current;
    if (!found) return;
    const observer = new ResizeObserver(([entry]) => entry && setWidth(Math.floor(entry.contentRect.width)));
    observer.observe(found);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
