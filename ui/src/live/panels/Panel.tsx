/** A titled part of the page that fails alone. */

import { useId, type ReactNode } from "react";
import { ErrorBoundary } from "../../app/ErrorBoundary";

interface PanelProps {
  readonly title: string;
  /** What is seen here, in a sentence. */
  readonly about?: string;
  readonly tools?: ReactNode;
  readonly wide?: boolean;
  readonly children: ReactNode;
}

export function Panel({ title, about, tools, wide = false, children }: PanelProps) {
  const id = useId();
  return (
    <section className={wide ? "live-panel wide" : "live-panel"} aria-labelledby={id}>
      <div className="panel-head">
        <h2 id={id}>{title}</h2>
        {tools}
      </div>
      {about !== undefined && <p className="panel-about">{about}</p>}
      <ErrorBoundary part={title}>{children}</ErrorBoundary>
    </section>
  );
}
