/**
 * Chromium under a POSIX locale calls its language `en-US@posix`. Intl refuses that, and the plotting library asks Intl
 * as soon as it is loaded, so that no page with a plot would open. Imported before everything else.
 */

/** The language, or what of it Intl knows. */
export function known(language: string): string {
  const [plain = ""] = language.split(/[@.]/);
  for (const each of [language, plain]) {
    try {
      if (Intl.getCanonicalLocales(each).length > 0) return each;
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
    }
  }
  return "en";
}

if (typeof navigator !== "undefined" && known(navigator.language) !== navigator.language) {
  Object.defineProperty(navigator, "language", { value: known(navigator.language) });
}
