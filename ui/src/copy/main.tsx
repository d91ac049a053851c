/** The script of such a file: the copy is in the document, as JSON. */

import "../app/language";
import { createRoot } from "react-dom/client";
import "../app/colors.css";
import "../app/app.css";
import { answerFromCopy } from "./answers";
import type { RunCopy } from "./copied";
import { CopyPage } from "./CopyPage";

const root = document.getElementById("root");
const text = document.getElementById("run-copy")?.textContent;
if (root && text) {
  const copy = JSON.parse(text) as RunCopy;
  answerFromCopy(copy);
  createRoot(root).render(<CopyPage copy={copy} />);
}
