// Reads the table twins out loud and on screen: hover, touch or arrow keys choose a cell, and every
// panel of the same axes shows the same site. The numbers are the tables'; nothing is computed or
// formatted here.
"use strict";
const tip = document.getElementById("tip");
const panels = [...document.querySelectorAll(".panel")].map((figure) => {
  const table = document.querySelector(`table[data-table="${figure.dataset.table}"]`);
  const heads = [...table.tHead.rows[0].cells].slice(1);
  const rows = [...table.tBodies[0].rows];
  return {
    figure,
    name: table.caption.textContent,
    sides: [...heads, ...rows.map((row) => row.cells[0])].map((cell) => cell.dataset.place).join(),
    cells: [...figure.querySelectorAll(".cells i")],
    rowLabels: [...figure.querySelectorAll(".cells b")],
    columnLabels: [...figure.querySelectorAll(".cells span")],
    heads,
    rows,
  };
});
const pairs = JSON.parse(document.getElementById("pairs")?.textContent ?? "null");
let chosen = null;

function alike(panel) {
  return panels.filter((other) => other.sides === panel.sides);
}

function element(tag, text, name) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (name) made.className = name;
  return made;
}

function mark(here, index, on) {
  const columns = here.heads.length;
  for (const panel of alike(here)) {
    panel.cells[index].classList.toggle("on", on);
    panel.rowLabels[Math.floor(index / columns)].classList.toggle("on", on);
    panel.columnLabels[index % columns].classList.toggle("on", on);
  }
}

function describe(here, index) {
  const columns = here.heads.length;
  const row = here.rows[Math.floor(index / columns)];
  const head = here.heads[index % columns];
  const list = document.createElement("dl");
  for (const panel of alike(here)) {
    const value = panel.rows[Math.floor(index / columns)].cells[(index % columns) + 1];
    const name = panel === here ? "here" : "";
    list.append(
      element("dt", panel.name, name),
      element("dd", value.textContent, name),
      element("dd", value.title),
    );
  }
  const place = [row.cells[0], head].map((cell) => cell.dataset.place).filter(Boolean).join(", ");
  const more = pairs ? strip(here, index) : [];
  tip.replaceChildren(element("b", head.textContent), element("p", place), list, ...more);
}

function drawn(tag, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text) made.textContent = text;
  return made;
}

// Every pair of a cell as a dot, lowest at the left, with a line where nothing changed; the dots
// of one place are piled up, so that all can be counted.
function strip(here, index) {
  const values = pairs.cells[here.figure.dataset.table][index];
  const known = values.map((value, pair) => ({ value, pair })).filter((each) => each.value !== null);
  if (!known.length) return [];
  known.sort((a, b) => a.value - b.value);
  const ends = [known[0].value, known[known.length - 1].value];
  const low = Math.min(ends[0], pairs.baseline ?? ends[0]);
  const high = Math.max(ends[1], pairs.baseline ?? ends[1]);
  const place = (value) => 6 + (228 * (value - low)) / (high - low || 1);
  const picture = drawn("svg", { width: 240, height: 48, role: "img" });
  picture.setAttribute("aria-label", `${known.length} pairs`);
  if (pairs.baseline !== null) {
    const x = place(pairs.baseline);
    picture.append(drawn("line", { x1: x, x2: x, y1: 2, y2: 46, stroke: "currentColor" }));
  }
  const piles = new Map();
  for (const { value } of known) {
    const column = Math.round(place(value) / 3);
    const height = piles.get(column) ?? 0;
    piles.set(column, height + 1);
    picture.append(drawn("circle", {
      cx: column * 3, cy: 44 - Math.min(height * 2, 40), r: 1.6, class: "dot",
    }));
  }
  const list = document.createElement("ol");
  for (const { value, pair } of [known[known.length - 1], known[0]]) {
    list.append(element("li", `${value}  ${pairs.pairs[pair]}`));
  }
  const words = pairs.words[here.figure.dataset.table][index];
  return [element("p", `${known.length} pairs, ${words}`), picture, list];
}

function choose(panel, index) {
  if (chosen) mark(chosen.panel, chosen.index, false);
  chosen = { panel, index };
  mark(panel, index, true);
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
  if (chosen) mark(chosen.panel, chosen.index, false);
  chosen = null;
  tip.hidden = true;
}

function moved(key, index, columns, last) {
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
    const index = moved(event.key, at, panel.heads.length, panel.cells.length - 1);
    if (index === null) return;
    event.preventDefault();
    panel.cells[index].scrollIntoView({ block: "nearest", inline: "nearest" });
    go(index);
  });
}
addEventListener("scroll", () => chosen && choose(chosen.panel, chosen.index), { passive: true });
