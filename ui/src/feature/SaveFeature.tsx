/** The page as one file that needs no server: what is drawn stays drawn, what asks a server is left out. */

import { useState } from "react";
import { saveFile } from "../widgets/leaving";

export function SaveFeature({ name }: { readonly name: string }) {
  const [said, setSaid] = useState("");
  return (
    <span className="save-run">
      <button
        type="button"
        onClick={() => {
          saveFile(new Blob([standing(document)], { type: "text/html" }), `${name}.html`);
          setSaid("Saved.");
        }}
      >
        Save as HTML
      </button>{" "}
      <span role="status" className="muted">
        {said}
      </span>
    </span>
  );
}

/** What cannot work without a server. */
const ASKING = "button, form, label, select, .save-run, .status-bar, [role=application] .u-over";

function standing(page: Document): string {
  const main = page.querySelector("main");
  const copy = main?.cloneNode(true);
  if (!(main instanceof HTMLElement) || !(copy instanceof HTMLElement)) return "";
  const drawn = [...main.querySelectorAll("canvas")].map((canvas) => canvas.toDataURL());
  copy.querySelectorAll("canvas").forEach((canvas, index) => {
    const image = page.createElement("img");
    image.src = drawn[index] ?? "";
    image.alt = "A plot; its numbers are in the table below it";
    image.style.width = canvas.style.width;
    canvas.replaceWith(image);
  });
  copy.querySelectorAll("textarea").forEach((area, index) => {
    const text = page.createElement("p");
    text.textContent = main.querySelectorAll("textarea")[index]?.value ?? "";
    area.closest("section")?.append(text);
  });
  copy.querySelectorAll(ASKING).forEach((each) => each.remove());
  copy.querySelectorAll("a").forEach((link) => link.replaceWith(...link.childNodes));
  const rules = [...page.styleSheets].flatMap((sheet) => [...sheet.cssRules].map((rule) => rule.cssText)).join("\n");
  const theme = page.documentElement.dataset.theme ?? "light";
  const title = page.createElement("title");
  title.textContent = main.querySelector("h1")?.textContent ?? "Sonde";
  return [
    `<!doctype html><html lang="en" data-theme="${theme}"><head><meta charset="utf-8">`,
    `<meta name="viewport" content="width=device-width"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">`,
    title.outerHTML,
    `<style>${rules.replaceAll("</", "<\\/")}</style></head><body>`,
    copy.outerHTML,
    "</body></html>",
  ].join("\n");
}
