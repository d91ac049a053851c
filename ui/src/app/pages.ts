/** Which page an address is. The server answers the same beginnings (routes/ui.py). */

export type Page =
  | { readonly name: "home" }
  | { readonly name: "live"; readonly run: string | null }
  | { readonly name: "causal"; readonly sweep: string | null }
  | { readonly name: "runs" }
  | { readonly name: "feature"; readonly layer: number; readonly feature: number }
  | { readonly name: "unknown" };

export function pageOf(address: string): Page {
  const [path = "/"] = address.split("?");
  const [first, second, third] = path.split("/").filter((part) => part !== "");
  const rest = second === undefined ? null : decoded(second);
  switch (first) {
    case undefined:
      return { name: "home" };
    case "live":
      return { name: "live", run: rest };
    case "causal":
      return { name: "causal", sweep: rest };
    case "runs":
      return { name: "runs" };
    case "feature": {
      const [layer, feature] = [second, third].map((part) => (/^\d{1,9}$/.test(part ?? "") ? Number(part) : null));
      return layer == null || feature == null ? { name: "unknown" } : { name: "feature", layer, feature };
    }
    default:
      return { name: "unknown" };
  }
}

/** An address that somebody mistyped is a name nobody has, not a fault. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    if (error instanceof URIError) return part;
    throw error;
  }
}
