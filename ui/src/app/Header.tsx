/** The name, the pages, the theme. */

import type { Theme } from "../widgets/colors";
import { Link } from "./Link";
import type { Page } from "./pages";

interface HeaderProps {
  readonly page: Page["name"];
  readonly model: string | null;
  readonly theme: Theme;
  readonly onTheme: () => void;
}

const PAGES = [
  ["live", "Live"],
  ["causal", "Causal"],
  ["runs", "Runs"],
] as const;

export function Header({ page, model, theme, onTheme }: HeaderProps) {
  const other = theme === "dark" ? "light" : "dark";
  return (
    <header className="app-header">
      <Link href="/" className="app-name" aria-current={page === "home" ? "page" : undefined}>
        Sonde
      </Link>
      <nav aria-label="Pages">
        {PAGES.map(([name, label]) => (
          <Link key={name} href={`/${name}`} aria-current={page === name ? "page" : undefined}>
            {label}
          </Link>
        ))}
      </nav>
      <span className="app-model" title="The model that is loaded">
        {model}
      </span>
      <button type="button" className="quiet-button" onClick={onTheme} aria-label={`Use the ${other} theme`}>
        {other}
      </button>
    </header>
  );
}
