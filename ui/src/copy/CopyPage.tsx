/** A run in a file of its own: the page of Live, standing still. */

import { useThemeSwitch } from "../app/theme";
import { ErrorBoundary } from "../app/ErrorBoundary";
import type { ServerState } from "../api/useServer";
import { RunView } from "../live/RunView";
import "../live/live.css";
import { CopyContext, type RunCopy } from "./copied";

const NO_SERVER: ServerState = { connection: "disconnected", capabilities: null, withoutModel: true };

export function CopyPage({ copy }: { readonly copy: RunCopy }) {
  const [theme, changeTheme] = useThemeSwitch();
  const other = theme === "dark" ? "light" : "dark";
  return (
    <CopyContext value={copy}>
      <div className="app">
        <header className="app-header">
          <b className="app-name">Sonde</b>
          <span className="muted">a copy of one run, from {new Date(1000 * copy.made).toLocaleString()}</span>
          <button type="button" className="quiet-button push" onClick={changeTheme} aria-label={`Use the ${other} theme`}>
            {other}
          </button>
        </header>
        <ErrorBoundary part="this run">
          <RunView run={copy.run} runs={[copy.run]} server={NO_SERVER} theme={theme} />
        </ErrorBoundary>
      </div>
    </CopyContext>
  );
}
