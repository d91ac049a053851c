/**
 * Where what was opened is shown: beside the page, at the height of the eye, wherever on the page it was
 * opened from. Below the page's width it lies over it. Escape, or closing the last panel in it, closes it.
 */

import { useEffect, useRef, type ReactNode } from "react";

interface DrawerProps {
  /** What was opened last: when it changes, its panel is brought to the top and has the focus. */
  readonly opened: string;
  readonly onClose: () => void;
  /** Panels, the one that was opened last first. */
  readonly children: ReactNode;
}

export function Drawer({ opened, onClose, children }: DrawerProps) {
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    box.current?.scrollTo({ top: 0 });
    box.current?.focus({ preventScroll: true });
  }, [opened]);
  return (
    <aside
      ref={box}
      className="drawer"
      aria-label="What was opened"
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      {children}
    </aside>
  );
}
