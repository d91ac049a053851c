/** Always visible: whether the server is there, how far behind the page is, how fast data comes. */

import type { ReactNode } from "react";
import { duration, rate } from "./numbers";
import "./status.css";

export type Connection = "connecting" | "connected" | "disconnected";

export interface StatusBarProps {
  readonly connection: Connection;
  /** Seconds that what is shown lags behind what is there; null when nothing streams. */
  readonly lag?: number | null;
  /** Things per second; null when nothing streams. */
  readonly perSecond?: number | null;
  readonly noun?: string;
  readonly children?: ReactNode;
}

const TEXT: Record<Connection, string> = {
  connecting: "connecting",
  connected: "connected",
  disconnected: "disconnected, trying again",
};

export function StatusBar({ connection, lag, perSecond, noun = "records", children }: StatusBarProps) {
  return (
    <footer className="status-bar" data-connection={connection} aria-label="Status" tabIndex={0}>
      <span role="status" className="status-connection">
        <i aria-hidden="true" />
        {TEXT[connection]}
      </span>
      {lag !== undefined && (
        <span title="From when the trainer wrote it to when it came here; known while a run is being written">
          lag {lag === null ? "\u2014" : duration(lag)}
        </span>
      )}
      {perSecond !== undefined && (
        <span title="How fast they come here">{perSecond === null ? `\u2014 ${noun}/s` : rate(perSecond, noun)}</span>
      )}
      {children}
    </footer>
  );
}
