/** A row of buttons with a name. */

import type { ReactNode } from "react";

export interface ToolbarProps {
  readonly label: string;
  readonly children: ReactNode;
}

export function Toolbar({ label, children }: ToolbarProps) {
  return (
    <div className="toolbar" role="group" aria-label={label}>
      {children}
    </div>
  );
}
