// Reads the table twins out loud and on screen: hover, touch or arrow keys choose a cell, and every
// panel shows the same site. The numbers are the tables'; nothing is computed or formatted here.
"use strict";
const tip = document.getElementById("tip");
const panels = [...document.querySelectorAll(".panel")].map((figure) => {
  const table = document.querySelector(`table[data-hook="${figure.dataset.hook}"]`);
  return {
    figure,
    hook: figure.dataset.hook,
    cells: [...figure.querySelectorAll(".cells i")],
    layers: [...figure.querySelectorAll(".cells b")],
    tokens: [...figure.querySelectorAll(".cells span")],
    heads: [...table.tHead.rows[0].cells].slice(1),
    rows: [...table.tBodies[0].rows],
  };
});
const columns = panels[0].tokens.length;
const last = panels[0].cells.length - 1;
let chosen = null;

function element(tag, text, name) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (name) made.className = name;
  return made;
}

function mark(index, on) {
  for (const panel of panels) {
    panel.cells[index].classList.toggle("on", on);
    panel.layers[Math.floor(index / columns)].classList.toggle("on", on);
    panel.tokens[index % columns].classList.toggle("on", on);
  }
}

function describe(here, index) {
  const row = here.rows[Math.floor(index / columns)];
  const head = here.heads[index % columns];
  const list = document.createElement("dl");
  for (const panel of panels) {
    const value = panel.rows[Math.floor(index / columns)].cells[(index % columns) + 1];
    const name = panel === here ? "here" : "";
    list.append(
      element("dt", panel.hook, name),
      element("dd", value.textContent, name),
      element("dd", value.title),
    );
  }
  const place = `layer ${row.cells[0].textContent}, position ${head.dataset.position}`;
  tip.replaceChildren(element("b", head.textContent), element("p", place), list);
}

function choose(panel, index) {
  if (chosen) mark(chosen.index, false);
  chosen = { panel, index };
  mark(index, true);
  describe(panel, index);
  tip.hidden = false;
  const cell = panel.cells[index].getBoundingClientRect();
  const { width, height } = tip.getBoundingClientRect();
  const right = cell.right + 12;
  const x = right + width < innerWidth - 8 ? right : Math.max(cell.left - width - 12, 8);
  const y = Math.min(Math.max(cell.top - height / 2, 8), innerHeight - height - 8);
  tip.style.left = `${x}px`;
  tip.style.top = `${y}px`;
}

function clear() {
  if (chosen) mark(chosen.index, false);
  chosen = null;
  tip.hidden = true;
}

function moved(key, index) {
  const column = index % columns;
  switch (key) {
    case "ArrowLeft": return column > 0 ? index - 1 : index;
    case "ArrowRight": return column < columns - 1 ? index + 1 : index;
    case "ArrowUp": return index >= columns ? index - columns : index;
    case "ArrowDown": return index + columns <= last ? index + columns : index;
    case "Home": return index - column;
    case "End": return index - column + columns - 1;
    default: return null;
  }
}

for (const panel of panels) {
  const start = Math.max(panel.cells.findIndex((cell) => cell.classList.contains("max")), 0);
  let at = start;
  const go = (index) => {
    at = index;
    choose(panel, index);
  };
  panel.figure.addEventListener("pointermove", (event) => {
    const index = panel.cells.indexOf(event.target);
    if (index >= 0 && (chosen?.panel !== panel || chosen.index !== index)) go(index);
  });
  panel.figure.addEventListener("pointerleave", clear);
  panel.figure.addEventListener("focus", () => go(at));
  panel.figure.addEventListener("blur", clear);
  panel.figure.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return clear();
    const index = moved(event.key, at);
    if (index === null) return;
    event.preventDefault();
    panel.cells[index].scrollIntoView({ block: "nearest", inline: "nearest" });
    go(index);
  });
}
addEventListener("scroll", () => chosen && choose(chosen.panel, chosen.index), { passive: true });
