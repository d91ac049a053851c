/** Something went wrong: what, in the server's own words, and a way to go on where there is one. */

import type { ReactNode } from "react";

export interface ErrorNoteProps {
  readonly error: Error | string;
  readonly onRetry?: (() => void) | undefined;
  readonly children?: ReactNode;
}

export function ErrorNote({ error, onRetry, children }: ErrorNoteProps) {
  return (
    <div className="error-note" role="alert">
      <p>{typeof error === "string" ? error : error.message}</p>
      {children}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  );
}
