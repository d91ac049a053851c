/** Time: pause, follow, zoom. The same by keys, anywhere on the page but in a field. */

import { useEffect, useEffectEvent } from "react";
import { useCopy } from "../../copy/copied";
import { grouped } from "../../widgets/numbers";
import { Toolbar } from "../../widgets/Toolbar";
import { useTimeCursor } from "../cursor";
import type { Scene } from "../scene";
import { following, zoomedIn, zoomedOut } from "../view/window";

export function TimeBar({ scene }: { readonly scene: Scene }) {
  const { shown, extent, paused, setPaused, go, unit, from, to } = scene;
  const [time] = useTimeCursor();
  const moving = useCopy() === null;
  const { window: stretch } = shown;
  const change = {
    in: () => extent && go({ window: zoomedIn(stretch, extent, time) }),
    out: () => extent && go({ window: zoomedOut(stretch, extent) }),
    all: () => go({ window: { kind: "all" } }),
    follow: () => {
      setPaused(false);
      if (extent) go({ window: following(stretch, extent) });
    },
  };
  const press = useEffectEvent((event: KeyboardEvent) => {
    const { target } = event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (target instanceof HTMLElement && target.closest("input, select, textarea")) return;
    const actions: Record<string, (() => unknown) | undefined> = {
      ...(moving && { p: () => setPaused(!paused), f: change.follow }),
      "+": change.in,
      "=": change.in,
      "-": change.out,
      "0": change.all,
    };
    const action = actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => press(event);
    window.addEventListener("keydown", listener);
    return () => window.removeEventListener("keydown", listener);
  }, []);
  return (
    <div className="time-bar">
      <Toolbar label="Time">
        {moving && (
          <>
            <button type="button" aria-pressed={paused} aria-keyshortcuts="p" onClick={() => setPaused(!paused)}>
              {paused ? "Go on" : "Pause"} <kbd>P</kbd>
            </button>
            <button
              type="button"
              aria-pressed={stretch.kind !== "fixed" && !paused}
              aria-keyshortcuts="f"
              onClick={change.follow}
            >
              Follow <kbd>F</kbd>
            </button>
          </>
        )}
        <button type="button" aria-keyshortcuts="+" onClick={change.in} aria-label="Zoom in">
          Zoom in <kbd>+</kbd>
        </button>
        <button
          type="button"
          aria-keyshortcuts="-"
          onClick={change.out}
          disabled={stretch.kind === "all"}
          aria-label="Zoom out"
        >
          Zoom out <kbd>−</kbd>
        </button>
        <button type="button" aria-keyshortcuts="0" onClick={change.all} disabled={stretch.kind === "all"}>
          Whole run <kbd>0</kbd>
        </button>
      </Toolbar>
      <span className="muted">
        {extent === null ? "" : `${unit}s ${grouped(from)} to ${grouped(to - 1)}`}
        {time === null ? "" : `, cursor at ${time}`}
        {paused && <b className="paused"> paused: the page stands still, nothing is lost</b>}
      </span>
    </div>
  );
}
