/** Keeps a fault in one part of the page from taking the rest with it. */

import { Component, type ReactNode } from "react";
import { ErrorNote } from "../widgets/ErrorNote";
import { PageNotSent } from "./lazily";

interface Props {
  readonly children: ReactNode;
  /** What failed, in a word or two: "the heatmaps". */
  readonly part: string;
}

interface State {
  readonly error: Error | null;
}

export class ErrorBoundary extends Component<Props, State> {
  override state: State = { error: null };

  static getDerivedStateFromError(error: Error): State {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    if (error instanceof PageNotSent) return <ErrorNote error={error} onRetry={() => window.location.reload()} />;
    return (
      <ErrorNote
        error={`A fault in this page: ${this.props.part} cannot be shown. ${error.message}`}
        onRetry={() => this.setState({ error: null })}
      />
    );
  }
}
