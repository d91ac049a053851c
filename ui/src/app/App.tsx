/** The frame around every page. */

import { Suspense, type ReactNode } from "react";
import { useKeyWanted } from "../api/key";
import { useServer, type ServerState } from "../api/useServer";
import type { Theme } from "../widgets/colors";
import { EmptyState } from "../widgets/EmptyState";
import { ErrorBoundary } from "./ErrorBoundary";
import { Header } from "./Header";
import { Home } from "./Home";
import { KeyPrompt } from "./KeyPrompt";
import { lazily, useFetchedAhead } from "./lazily";
import { Link } from "./Link";
import { useAddress } from "./location";
import { pageOf, type Page } from "./pages";
import { useThemeSwitch } from "./theme";

const causal = () => import("../causal/CausalPage");
const live = () => import("../live/LivePage");
const runs = () => import("../runs/RunsPage");
const feature = () => import("../feature/FeaturePage");
const ALL = [causal, live, runs];
const CausalPage = lazily(causal);
const LivePage = lazily(live);
const RunsPage = lazily(runs);
const FeaturePage = lazily(feature);

export function App() {
  const address = useAddress();
  const page = pageOf(address);
  const server = useServer();
  const [theme, changeTheme] = useThemeSwitch();
  const keyWanted = useKeyWanted();
  useFetchedAhead(ALL);
  return (
    <div className="app">
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <Header page={page.name} model={server.capabilities?.model.name ?? null} theme={theme} onTheme={changeTheme} />
      {keyWanted && <KeyPrompt />}
      <ErrorBoundary part="this page" key={page.name}>
        <Suspense fallback={<main className="page" id="main" aria-busy="true" />}>
          {pageElement(page, server, theme)}
        </Suspense>
      </ErrorBoundary>
    </div>
  );
}

function pageElement(page: Page, server: ServerState, theme: Theme): ReactNode {
  switch (page.name) {
    case "home":
      return <Home server={server} />;
    case "causal":
      return <CausalPage sweep={page.sweep} server={server} theme={theme} />;
    case "live":
      return <LivePage run={page.run} server={server} theme={theme} />;
    case "runs":
      return <RunsPage server={server} theme={theme} />;
    case "feature":
      return <FeaturePage layer={page.layer} feature={page.feature} server={server} theme={theme} />;
    case "unknown":
      return (
        <main className="page" id="main">
          <EmptyState title="There is no such page">
            <p>
              It was mistyped, or is of another version. There are: <Link href="/">the beginning</Link>,{" "}
              <Link href="/live">Live</Link>, <Link href="/causal">Causal</Link>, <Link href="/runs">Runs</Link>.
            </p>
          </EmptyState>
        </main>
      );
  }
}
