/** The time, good to a few seconds: for "3 min ago". */

import { useEffect, useState } from "react";

const EVERY_MS = 5_000;

export function useNow(): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return now;
}
