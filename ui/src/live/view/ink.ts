/** Black or white, whichever can be read on a colour: on middling ones nothing paler than pure can. */

import { textOn } from "../../widgets/colors";

const PALE = textOn("#000000");

export function plainTextOn(color: string): string {
  return textOn(color) === PALE ? "#ffffff" : "#000000";
}
