/** In place of numbers that are not there: being asked for, refused, or truly none. */

import type { ReactNode } from "react";
import type { Resource } from "../../api/useResource";
import { EmptyState } from "../../widgets/EmptyState";
import { ErrorNote } from "../../widgets/ErrorNote";

interface NothingHereProps {
  readonly asked: Pick<Resource<unknown>, "data" | "error" | "loading" | "reload">;
  /** What is true once the server has answered. */
  readonly title: string;
  readonly children?: ReactNode;
}

export function NothingHere({ asked, title, children }: NothingHereProps) {
  if (asked.data !== null) return <EmptyState title={title}>{children}</EmptyState>;
  if (asked.error) return <ErrorNote error={asked.error} onRetry={asked.reload} />;
  return (
    <p className="reading muted" role="status">
      Reading the run
    </p>
  );
}
