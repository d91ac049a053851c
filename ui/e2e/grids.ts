/** A grid as the API sends it. */

import type { components } from "../src/api/schema.generated";

export type HookGrid = components["schemas"]["HookGrid"];
