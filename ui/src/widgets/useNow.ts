/** The time in milliseconds, kept current: for "3 min ago". */

import { useEffect, useState } from "react";

const EVERY_MS = 5_000;

export function useNow(every = EVERY_MS): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}
