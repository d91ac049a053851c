/** The last answer there was about something: what is shown stays until there is something newer. */

import { useState } from "react";

export function useKept<T>(value: T | null, about: string): T | null {
  const [kept, setKept] = useState<{ about: string; value: T | null }>({ about, value });
  if (kept.about !== about || (value !== null && value !== kept.value)) {
    setKept({ about, value });
    return value;
  }
  return kept.value;
}
