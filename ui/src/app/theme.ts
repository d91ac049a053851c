/** Light or dark: the reader's system decides, unless they have chosen here. */

import { useCallback, useEffect, useSyncExternalStore } from "react";
import { recall, remember } from "../api/remembering";
import type { Theme } from "../widgets/colors";

const NAME = "sonde-theme";
const DARK = "(prefers-color-scheme: dark)";
const listeners = new Set<() => void>();

function current(): Theme {
  const chosen = recall("localStorage", NAME);
  if (chosen === "light" || chosen === "dark") return chosen;
  return window.matchMedia(DARK).matches ? "dark" : "light";
}

function subscribe(listener: () => void): () => void {
  const system = window.matchMedia(DARK);
  listeners.add(listener);
  system.addEventListener("change", listener);
  return () => {
    listeners.delete(listener);
    system.removeEventListener("change", listener);
  };
}

function useTheme(): Theme {
  return useSyncExternalStore(subscribe, current);
}

/** The theme, written to the document, and a way to change it. Called once, by the app. */
export function useThemeSwitch(): [Theme, () => void] {
  const theme = useTheme();
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
  }, [theme]);
  const change = useCallback(() => {
    remember("localStorage", NAME, current() === "dark" ? "light" : "dark");
    for (const listener of listeners) listener();
  }, []);
  return [theme, change];
}
